/** What the agent asks in forms, above the box to write in. */
import type { ChatInputRequest } from "../state/types.gen";
import { Fetched } from "./on-demand";

export function InputRequests({ requests, agent }: { requests: readonly ChatInputRequest[]; agent: string }) {
  if (requests.length === 0) return null;
  return (
    <Fetched name="questions" what={`what ${agent} asks`} isQuiet>
      {({ InputForm }) => requests.map((request) => <InputForm key={request.id} request={request} agent={agent} />)}
    </Fetched>
  );
}
