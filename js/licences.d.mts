import type { Metafile } from "esbuild";

export declare const FILE: string;
export declare function bundledPackages(...metafiles: Metafile[]): string[];
export declare function licences(names: readonly string[]): Promise<string>;
