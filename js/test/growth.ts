/** Measures whether work takes time in proportion to its size, whatever else the machine does meanwhile. */

/** Enough to know where `isFine` says yes. */
const FEWEST = 3;
/** Where it still says no, it is the work. */
const MOST = 20;

/**
 * The processor time of `small` and of `large`, in milliseconds: the shortest of some measurements, taken in turn.
 *
 * It is that of the whole process. What else happens there, or on the machine, can only make a measurement longer, so
 * there are more of them until `isFine` says yes of the shortest ones.
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
