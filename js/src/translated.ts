/** The view with its messages in the page's language; fetched if that is not English. */
export { mount } from "./view/mount";
