/** Measures whether work takes time in proportion to its size, despite other load on the machine. */

/** Enough rounds if `isFine` returns true. */
const FEWEST = 3;
/** If `isFine` still returns false after so many rounds, the work is slow, not the machine. */
const MOST = 20;

/**
 * The processor time of `small` and of `large`, in milliseconds: the shortest of several alternating measurements.
 *
 * It measures the whole process. Other work in it or on the machine only makes a measurement longer, so it measures
 * again until `isFine` accepts the shortest times.
 */
export function shortest(
  small: () => void,
  large: () => void,
  isFine: (small: number, large: number) => boolean,
): readonly [small: number, large: number] {
  let best: readonly [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 1; round <= MOST; round += 1) {
    best = [Math.min(best[0], spent(small)), Math.min(best[1], spent(large))];
    if (round >= FEWEST && isFine(...best)) break;
  }
  return best;
}

function spent(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
