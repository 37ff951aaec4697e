/** What `make test` leaves to `make test-all`, as `tests/thorough.py` does for Python. */

/** Every fourth of the cases, from the one at `first`; all of them in a thorough run. */
export function thoroughCases<T>(cases: readonly T[], first = 0): T[] {
  return cases.filter((_, at) => process.env.AGENTNB_THOROUGH || at % 4 === first % 4);
}

/** How many examples: a quarter of them, or all in a thorough run. */
export const thoroughCount = (number: number): number =>
  process.env.AGENTNB_THOROUGH ? number : Math.ceil(number / 4);
