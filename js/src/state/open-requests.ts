/** The waiting questions of a chat. In a separate file: code that watches for them needs no more of the reducers. */
import type { ChatInputRequest, ChatState } from "./types.gen.ts";

/** Returns those that wait in the running turn's answer, and those outside a turn. */
export const openRequests = (chat: ChatState | undefined): readonly ChatInputRequest[] => [
  ...(chat?.activeTurn?.responseParts ?? []).flatMap((part) =>
    part.kind === "inputRequest" && part.response === undefined ? [part.request] : [],
  ),
  ...(chat?.inputRequests ?? []),
];
