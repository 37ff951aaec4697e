import type { BuildOptions, Plugin } from "esbuild";

export declare const cssText: Plugin;
export declare const options: BuildOptions & { metafile: true };
