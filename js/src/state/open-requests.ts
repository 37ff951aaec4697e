/** The questions of a chat that wait. A file of its own: what watches for them needs no more of the reducers. */
import type { ChatInputRequest, ChatState } from "./types.gen.ts";

/** Those that wait in the running turn's answer, and those that were put while none ran. */
export const openRequests = (chat: ChatState | undefined): readonly ChatInputRequest[] => [
  ...(chat?.activeTurn?.responseParts ?? []).flatMap((part) =>
    part.kind === "inputRequest" && part.response === undefined ? [part.request] : [],
  ),
  ...(chat?.inputRequests ?? []),
];
