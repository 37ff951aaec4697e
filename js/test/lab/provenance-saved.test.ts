import { describe, expect, it } from "vitest";
import { savedAnswer } from "../../src/lab/provenance-saved";

/** The output of `to_metadata` in agentnb/plugins/provenance/cell_metadata.py. */
const SOURCE = "x = 1  \n\nüber = '→'\t\nmine\nlast";
const SAVED = "claude sonnet-5 2026-11-30 0f3a91c2/77b01d4e 1-3 83d35cde; codex - - aaaa/bbbb 5 3547cb11";

const answer = (source: string, saved?: string) => savedAnswer([{ id: "a", source, ...(saved && { saved }) }]);

describe("the authors of cells saved in a notebook", () => {
  it("are read as in the kernel", async () => {
    expect(await answer(SOURCE, SAVED)).toEqual({
      cells: [
        {
          index: 0,
          id: "a",
          lines: [
            [1, 3, 0],
            [5, 5, 1],
          ],
          turns: [0, 1],
          isEdited: false,
          saved: null,
        },
      ],
      turns: [
        {
          session: "claude:/0f3a91c2",
          turn: "77b01d4e",
          agent: "claude",
          model: "sonnet-5",
          isKept: false,
          fromNotebook: true,
        },
        { session: "codex:/aaaa", turn: "bbbb", agent: "codex", isKept: false, fromNotebook: true },
      ],
      titles: {},
      isSaved: false,
    });
  });

  it("have no lines when a line was changed or deleted", async () => {
    for (const source of [SOURCE.replace("x = 1", "x = 2"), "x = 1", ""]) {
      const [cell] = (await answer(source, SAVED)).cells;
      expect(cell).toMatchObject({ lines: [], turns: [0, 1], isEdited: true });
    }
  });

  it.each([
    undefined,
    "nonsense",
    SAVED.replaceAll(" 1-3 ", " 0-3x ").replace("; codex", "; "),
    `${SAVED} <img src=x>`.replace("claude sonnet-5", "claude <b>"),
    "a ".repeat(2_000),
  ])("are ignored when the metadata is invalid: %j", async (saved) => {
    expect((await answer(SOURCE, saved)).cells).toEqual([]);
  });

  it("keep valid entries next to invalid ones", async () => {
    const [cell] = (await answer(SOURCE, `nonsense; ${SAVED}`)).cells;
    expect(cell).toMatchObject({ turns: [0, 1], isEdited: false });
  });

  it("have no lines when the page can't compute a digest", async () => {
    const [cell] = (await savedAnswer([{ id: "a", source: SOURCE, saved: SAVED }], null)).cells;
    expect(cell).toMatchObject({ lines: [], turns: [0, 1], isEdited: false });
  });
});
