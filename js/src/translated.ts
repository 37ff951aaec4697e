/** The view with its messages in the page's language; fetched where that is not English. */
export { mount } from "./view/mount";
