/** The panel that pairs phones: its buttons stay while phones come and go. */
import { signal } from "@preact/signals";
import { afterEach, expect, test } from "vitest";
import mountPhone from "../../src/phone";
import type { RootState } from "../../src/state/types.gen";
import { eventually } from "../eventually";

afterEach(() => document.body.replaceChildren());

function mountPanel() {
  const kernel = { isOn: true, phones: ["phone"], addresses: ["127.0.0.1"] };
  const sent: string[] = [];
  let codes = 0;
  const request = async (method: string): Promise<unknown> => {
    sent.push(method);
    if (method !== "phone/pair") return { ...kernel };
    codes += 1;
    return { name: `phone ${codes + 1}`, token: `token${codes}`, port: 8_000 };
  };
  const root = signal<RootState | undefined>(undefined);
  const into = document.body.appendChild(document.createElement("div"));
  const end = mountPhone(into, { root, request, close: () => undefined });
  const button = (name: string) => [...into.querySelectorAll("button")].find((each) => each.textContent === name);
  const phones = (...names: string[]) => {
    kernel.phones = names;
    root.value = {} as RootState;
  };
  return { into, end, sent, button, phones };
}

test("Unpair keeps its focus and works when another phone connects", async () => {
  const { into, sent, button, phones } = mountPanel();
  await eventually(() => expect(into.textContent).toContain("Connected: phone."));
  const pressed = button("Unpair");
  pressed?.focus();
  phones("phone", "phone 2");
  await eventually(() => expect(into.textContent).toContain("Connected: phone, phone 2."));
  expect([button("Unpair") === pressed, document.activeElement === pressed]).toEqual([true, true]);
  pressed?.click();
  await eventually(() => expect(sent).toContain("phone/unpair"));
});

test("Copy link copies the link of the current pairing code", async () => {
  const { into, button } = mountPanel();
  const copied: string[] = [];
  Object.defineProperty(navigator, "clipboard", {
    configurable: true,
    value: { writeText: async (text: string) => void copied.push(text) },
  });
  for (const name of ["phone 2", "phone 3"]) {
    await eventually(() => expect(button("On this machine only")).toBeDefined());
    button("On this machine only")?.click();
    await eventually(() => expect(button("Copy link"), name).toBeDefined());
    button("Copy link")?.click();
    button("Unpair")?.click();
    await eventually(() => expect(into.querySelector(".phone-code")).toBeNull());
  }
  expect(copied).toEqual(["http://127.0.0.1:8000/#token1", "http://127.0.0.1:8000/#token2"]);
});
