/** Wraps a component so that it redraws only when its props change. */
import { type Component, type FunctionComponent, h } from "preact";

type Same<P> = (before: Readonly<P>, after: Readonly<P>) => boolean;

export function memo<P extends object>(component: FunctionComponent<P>, same: Same<P> = isShallowEqual) {
  return function Memo(this: Component<P>, props: P) {
    this.shouldComponentUpdate = (next) => !same(this.props, next);
    return h(component, props as P & { key?: never });
  } as FunctionComponent<P>;
}

function isShallowEqual<P extends object>(before: P, after: P): boolean {
  const names = Object.keys(before) as (keyof P)[];
  if (names.length !== Object.keys(after).length) return false;
  return names.every((name) => name in after && before[name] === after[name]);
}
