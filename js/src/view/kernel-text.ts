/** What the kernel says, in the page's language; in English it is as it came. Translated builds have `translation.ts` here. */
export const kernelText = (text: string): string => text;
