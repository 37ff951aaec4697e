import { LabIcon } from "@jupyterlab/ui-components";

/** A speech bubble with a cursor in it, in the theme's icon colour. */
export default new LabIcon({
  name: "agentnb:chat",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161"><path d="M5 3h14a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3h-6.2L8 22v-4H5a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3zm0 2a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h5v1.9l2.2-1.9H19a1 1 0 0 0 1-1V6a1 1 0 0 0-1-1z"/><path d="M7.7 7.3 6.3 8.7 8.1 10.500 6.300 12.300 7.700 13.700 10.900 10.500zM12 12h5v2h-5z"/></g></svg>`,
});
