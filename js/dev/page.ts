/** The development page: `?scene=answer` mounts one scripted state of the real view. */
import { mount } from "../src/view/mount";
import { SCENES } from "./scenes";

const name = new URLSearchParams(location.search).get("scene") ?? "answer";
const scene = SCENES[name];
if (!scene) throw new Error(`No scene is called ${name}. There are: ${Object.keys(SCENES).join(", ")}`);
const { store, what } = scene();
mount(document.querySelector("main") as HTMLElement, store, what);
Object.assign(globalThis, { store, scenes: Object.keys(SCENES) });
