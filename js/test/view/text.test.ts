import { describe, expect, test } from "vitest";
import { ansiRuns, ansiText } from "../../src/view/ansi";
import { uuid } from "../../src/view/identity";
import { audioSource, imageSource, safeHref } from "../../src/view/links";
import { bytes, duration, inFolder, line, plain, splitPath } from "../../src/view/plain";
import { eventually } from "../eventually";
import { drawn, MarkdownPage } from "./markdown-page";
import { fetchModule } from "./modules";

describe("a path", () => {
  test.each([
    ["/work/a/fit.py", "file:///work/a", "fit.py"],
    ["/work/a b/x/fit.py", "file:///work/a%20b/", "x/fit.py"],
    ["file:///work/a/fit.py", "file:///work/a", "fit.py"],
    ["/work/ab/fit.py", "file:///work/a", "/work/ab/fit.py"],
    ["/work/a/../secret", "file:///work/a", "/work/a/../secret"],
    ["/work/a/..b/fit.py", "file:///work/a", "..b/fit.py"],
    ["fit.py", "file:///work/a", "fit.py"],
    ["/etc/passwd", "file:///work/%E0%A4%A", "/etc/passwd"],
    ["/etc/passwd", undefined, "/etc/passwd"],
  ])("%s in folder %s is shown as %s", (path, folder, name) => {
    expect(inFolder(path, folder)).toEqual(name);
  });
});

describe("links", () => {
  test.each([
    ["https://example.org/a?b=c#d", "https://example.org/a?b=c#d"],
    ["http://localhost:8888/tree", "http://localhost:8888/tree"],
    ["mailto:ada@example.org", "mailto:ada@example.org"],
    ["notebooks/quickstart.ipynb", "notebooks/quickstart.ipynb"],
    ["../data/my file.csv", "../data/my%20file.csv"],
    ["#section", "#section"],
    ["a/b:c", "a/b:c"],
  ])("%s is a link", (href, expected) => {
    expect(safeHref(href)).toEqual(expected);
  });

  test.each([
    "javascript:alert(1)",
    "JAVASCRIPT:x",
    " java\nscript:x",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "//evil.example",
    "\\\\evil",
    "/\\evil",
    "",
    "blob:x",
    "https:evil.invalid",
    "https:/evil.invalid",
    "http:///evil.invalid",
    "a\u0000b:c",
  ])("%j stays text", (href) => {
    expect(safeHref(href)).toEqual(undefined);
  });

  test("allow picture and sound data of safe types only", () => {
    expect(imageSource("image/png", "AAAA")).toEqual("data:image/png;base64,AAAA");
    expect(imageSource("image/svg+xml", "AAAA")).toEqual(undefined);
    expect(imageSource("image/png", '"><x')).toEqual(undefined);
    expect(imageSource("text/html", "AAAA")).toEqual(undefined);
    expect(audioSource("audio/wav", "AAAA")).toEqual("data:audio/wav;base64,AAAA");
  });
});

describe("terminal output", () => {
  test("keeps colours and drops every other sequence", () => {
    const output =
      "\u001b[1;31mred\u001b[0m \u001b]0;title\u0007plain\u001b[2K\u001b[3A \u001b[38;5;2mgreen\u001b[39m!";
    expect(ansiRuns(output)).toEqual([
      { text: "red", style: "bold fg-1" },
      { text: " plain ", style: "" },
      { text: "green", style: "fg-2" },
      { text: "!", style: "" },
    ]);
  });

  test("shows the last state of an overwritten line", () => {
    expect(ansiText("10%\r50%\r100%\ndone\r\nabc\b\bX")).toEqual("100%\ndone\naX");
  });

  test("ignores RGB colours, and reads the sequences after them", () => {
    expect(ansiRuns("\u001b[38;2;1;2;3mx\u001b[4my")).toEqual([
      { text: "x", style: "" },
      { text: "y", style: "underline" },
    ]);
  });

  test("drops an unfinished sequence at the end", () => {
    expect(ansiText("a\u001b[3")).toEqual("a");
    expect(ansiText("a\u001b]8;;https://x")).toEqual("a");
  });
});

describe("plain text", () => {
  test("shows invisible and bidi characters as code points", () => {
    expect(plain("a\u202eb\u200bc\u0007")).toEqual("a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩");
  });

  test("shows ignorable characters, except joiners and variation selectors", () => {
    const ignored = Array.from({ length: 0x110000 }, (_, number) => number)
      .filter((number) => number < 0xd800 || number > 0xdfff)
      .map((number) => String.fromCodePoint(number))
      .filter((one) => /\p{Default_Ignorable_Code_Point}/u.test(one));
    expect(ignored.length).toBeGreaterThan(4_000);
    const unchanged = ignored.filter((one) => plain(one) === one);
    const joiners = "\u200c \u200d".split(" ");
    expect(unchanged.filter((one) => !joiners.includes(one) && !/\p{Variation_Selector}/u.test(one))).toEqual([]);
  });

  test("joins lines into one and shortens it", () => {
    expect(line(" a\n b\tc ")).toEqual("a b c");
    expect(line("x".repeat(300), 10)).toEqual(`${"x".repeat(9)}…`);
  });

  test("formats paths, sizes and durations", () => {
    expect(splitPath("/home/ada/fit.py")).toEqual({ folder: "/home/ada/", name: "fit.py" });
    expect(bytes(48_213)).toEqual("47 KB");
    expect(duration(65_000)).toEqual("1 min 5 s");
  });

  test("shortens long paths in the middle", () => {
    const { folder, name } = splitPath(`/home/${"*".repeat(2_000_000)}/fit.py`);
    expect([folder.startsWith("/home/***"), name, folder.length < 10_000]).toEqual([true, "fit.py", true]);
    expect(splitPath("*".repeat(2_000_000)).name.length).toBeLessThan(10_000);
  });

  test("ids are UUIDs of version 4, also without crypto.randomUUID", () => {
    const uuid4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(uuid()).toMatch(uuid4);
  });
});

describe("markdown", () => {
  test("shows coloured code with its language and a copy button", async () => {
    const module = fetchModule;
    const page = new MarkdownPage({ module }).draw("```python\ndef f(): return 'x'\n```", false);
    const keyword = () => page.element.querySelector(".hl-keyword")?.textContent;
    await eventually(() => expect(keyword()).toEqual("def"));
    expect(page.element.querySelector(".code-lang")?.textContent).toEqual("python");
    expect(page.element.querySelector("button")?.getAttribute("aria-label")).toEqual("Copy code");
    expect(page.element.querySelector("code")?.textContent).toEqual("def f(): return 'x'");
  });

  test.each([
    "python",
    "js",
    "ts",
    "tsx",
    "bash",
    "sql",
    "r",
    "rust",
    "json",
    "yaml",
    "toml",
    "xml",
    "html",
    "diff",
    "c",
    "cpp",
    "java",
    "go",
    "julia",
    "dockerfile",
  ])("keeps every character of coloured code in %s", async (language) => {
    const code =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a piece of shell
      "class A:\n  x = \"a${b}'\" # c -- // /* d */ `e` 1.5e3\n<f g='h'>@i</f>\n+ - function j(k) { return 'l' }";
    const module = fetchModule;
    const page = new MarkdownPage({ module }).draw(`\`\`\`${language}\n${code}\n\`\`\``, false);
    await eventually(() => expect(page.element.querySelector("code span")).not.toEqual(null));
    expect(page.element.querySelector("code")?.textContent).toEqual(code);
  });

  test("opens links in a new tab without a referrer", () => {
    const link = drawn("[a](https://example.org)").element.querySelector("a");
    expect([link?.target, link?.rel]).toEqual(["_blank", "noopener noreferrer nofollow"]);
  });

  test("shows an external picture by its name, without loading it", () => {
    const page = drawn("![a plot](https://example.org/x.png)");
    expect(page.element.querySelector("img")).toEqual(null);
    expect(page.text).toContain("a plot");
  });

  test("decodes character references outside code", () => {
    expect(drawn("a &amp; b &lt;c&gt; &#8594; &hellip; `&amp;`").text).toEqual("a & b <c> → … &amp;");
  });

  test("keeps the alignment of table columns", () => {
    const cells = drawn("| a | b |\n|:--|--:|\n| 1 | 2 |").element.querySelectorAll<HTMLElement>("td");
    expect([...cells].map((cell) => cell.style.textAlign)).toEqual(["left", "right"]);
  });
});
