/** Limits the cases that `make test` runs; `make test-all` runs all, as `tests/thorough.py` does for Python. */

/** Returns every fourth case, starting at `first`; all of them in a thorough run. */
export function thoroughCases<T>(cases: readonly T[], first = 0): T[] {
  return cases.filter((_, at) => process.env.AGENTNB_THOROUGH || at % 4 === first % 4);
}

/** Returns the number of examples to run: a quarter, or all in a thorough run. */
export const thoroughCount = (number: number): number =>
  process.env.AGENTNB_THOROUGH ? number : Math.ceil(number / 4);
