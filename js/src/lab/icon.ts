import { LabIcon } from "@jupyterlab/ui-components";

const drawn = (name: string, paths: string): LabIcon =>
  new LabIcon({
    name,
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16" fill="none" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round"><path class="jp-icon3" stroke="#616161" d="${paths}"/></svg>`,
  });

/** A robot's head: an agent. */
export default drawn(
  "agentnb:agent",
  "M3.5 5.500h9v7h-9zM8 5.500v-3M6.200 8.300v1.400M9.800 8.300v1.400M1.700 8v2.500M14.300 8v2.500",
);

/** A spanner. */
export const fixIcon = drawn(
  "agentnb:fix",
  "M9.8 2.6a3.3 3.3 0 0 0-3.5 4.5l-4 4 2.1 2.3 4.2-4.2a3.3 3.3 0 0 0 4.4-4L11 7.2 9 6.800l-.3-2z",
);

/** A question mark in a circle. */
export const explainIcon = drawn(
  "agentnb:explain",
  "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.200 6.400a1.800 1.800 0 1 1 2.700 1.600c-.6.3-.9.7-.9 1.300M8 11.300v.1",
);
