import { LabIcon } from "@jupyterlab/ui-components";

/** A speech bubble with a cursor in it, in the theme's icon colour. */
export default new LabIcon({
  name: "agentnb:chat",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161"><path d="M5 3h14a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3h-6.2L8 22v-4H5a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3zm0 2a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h5v1.9l2.2-1.9H19a1 1 0 0 0 1-1V6a1 1 0 0 0-1-1z"/><path d="M7.7 7.3 6.3 8.7 8.1 10.500 6.300 12.300 7.700 13.700 10.900 10.500zM12 12h5v2h-5z"/></g></svg>`,
});

const drawn = (name: string, paths: string): LabIcon =>
  new LabIcon({
    name,
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16" fill="none" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round"><path class="jp-icon3" stroke="#616161" d="${paths}"/></svg>`,
  });

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
