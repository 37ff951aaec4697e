/**
 * The modules that the fetched parts of the view share with it: they have no copies of their own. The build reads this
 * list, too (`parts` in `build.mjs`).
 */
import { Fragment, h } from "preact";
import * as hooks from "preact/hooks";
import * as changeSet from "./change-set";
import * as context from "./context";
import * as controls from "./controls";
import * as fold from "./fold";
import * as hostEvents from "./host-events";
import * as icons from "./icons";
import * as links from "./links";
import * as diff from "./parts/diff";
import * as files from "./parts/files";
import * as lineDiff from "./parts/line-diff";
import * as longText from "./parts/long-text";
import * as plain from "./plain";
import * as work from "./use-work";

const SHARED: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["preact", { Fragment, h }],
  ["preact/hooks", hooks],
  ["view/change-set", changeSet],
  ["view/context", context],
  ["view/controls", controls],
  ["view/fold", fold],
  ["view/host-events", hostEvents],
  ["view/icons", icons],
  ["view/links", links],
  ["view/parts/diff", diff],
  ["view/parts/files", files],
  ["view/parts/line-diff", lineDiff],
  ["view/parts/long-text", longText],
  ["view/plain", plain],
  ["view/use-work", work],
]);

/** Returns a module that a part imports. */
export const shared = (name: string): unknown => SHARED.get(name);
