import { describe, expect, it } from "vitest";
import { busy, dead, failed, missing, noKernel, noticeElement } from "../../src/lab/notices";

const nothing = (): void => {};

describe("a notice", () => {
  it("shows the exact install commands when agentnb is missing", () => {
    const notice = noticeElement(missing("/opt/my env/bin/python", nothing, nothing));
    const commands = [...notice.querySelectorAll("code")].map((code) => code.textContent);
    expect(commands).toEqual([
      "%pip install jupyter-agentnb",
      '"/opt/my env/bin/python" -m pip install jupyter-agentnb',
    ]);
  });

  it("names the versions that avoid waiting for a busy kernel", () => {
    expect(busy(true).text).toContain("With ipykernel 7 in");
    expect(busy(false).text).toContain("With JupyterLab 4.4 or Notebook 7.4, and ipykernel 7 in");
  });

  it("has buttons that insert the install command and retry", () => {
    const done: string[] = [];
    const notice = noticeElement(
      missing(
        "",
        () => done.push("again"),
        (source) => done.push(source),
      ),
    );
    for (const button of notice.querySelectorAll<HTMLButtonElement>(".agentnb-actions button")) button.click();
    expect(done).toEqual(["%pip install jupyter-agentnb", "again"]);
  });

  it("has a button to start or restart the kernel", () => {
    const done: string[] = [];
    const buttons = [dead, noKernel].map((notice) =>
      noticeElement(notice(() => done.push(notice.name))).querySelector<HTMLButtonElement>(".agentnb-actions button"),
    );
    for (const button of buttons) button?.click();
    expect(buttons.map((button) => button?.textContent)).toEqual(["Restart kernel", "Start kernel"]);
    expect(done).toEqual(["dead", "noKernel"]);
  });

  it("shows the kernel's message as text, not as HTML", () => {
    const notice = noticeElement(failed("<img src=x onerror=alert(1)>", nothing));
    expect(notice.querySelector("img")).toBeNull();
    expect(notice.textContent).toContain("<img src=x onerror=alert(1)>");
  });
});
