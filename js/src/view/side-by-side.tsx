/** The place of tries side by side, which a part shows that is fetched for them. */
import type { BranchesProps } from "./branches/branches";
import { Fetched } from "./on-demand";

export function SideBySide(props: BranchesProps) {
  return (
    <Fetched name="branches" what="the tries">
      {({ Branches }) => <Branches {...props} />}
    </Fetched>
  );
}
