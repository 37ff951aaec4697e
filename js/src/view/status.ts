/** Turns a session's status number into one word for its tab. */
import type { SessionSummary } from "../state/types.gen";

const ACTIVITY = 0b11111;
const ERROR = 2;
const IN_PROGRESS = 8;
const INPUT_NEEDED = 24;
const IS_READ = 32;
const IS_ARCHIVED = 64;

export type TabState = "needs you" | "working" | "error" | "unread" | "draft" | "idle";

/** Returns the most pressing word; a conversation on screen is never unread. */
export function tabState(status: number, hasDraft: boolean, isShown = false): TabState {
  const activity = status & ACTIVITY;
  if (needsAnswer(status)) return "needs you";
  if (activity & IN_PROGRESS) return "working";
  if (activity === ERROR) return "error";
  if (!isShown && !isRead(status)) return "unread";
  if (hasDraft) return "draft";
  return "idle";
}

export function needsAnswer(status: number): boolean {
  return (status & ACTIVITY) === INPUT_NEEDED;
}

export function isIdle(status: number): boolean {
  return (status & ACTIVITY) < IN_PROGRESS;
}

export function isRead(status: number): boolean {
  return (status & IS_READ) !== 0;
}

export function isArchived(summary: SessionSummary): boolean {
  return (summary.status & IS_ARCHIVED) !== 0;
}
