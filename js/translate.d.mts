import type { Plugin } from "esbuild";

export interface Found {
  readonly code: string;
  readonly messages: readonly { readonly id: string; readonly plural?: string; readonly at: number }[];
}

export function translated(path: string): Promise<Found>;
export function filesOf(...endings: string[]): Promise<string[]>;
export function isTranslated(file: string): boolean;
export const translation: Plugin;
