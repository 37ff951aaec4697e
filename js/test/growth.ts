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
  let found: readonly [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 1; round <= MOST; round += 1) {
    found = [Math.min(found[0], spent(small)), Math.min(found[1], spent(large))];
    if (round >= FEWEST && isFine(...found)) break;
  }
  return found;
}

function spent(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
