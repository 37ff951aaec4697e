/** Translates text from the kernel; in English it stays as it is. Translated builds have `translation.ts` here. */
export const kernelText = (text: string): string => text;
