/** Renders a title's `code` as code; a lone backtick stays as it is. */
export function coded(title: string) {
  return title.split(/`([^`]+)`/).map((piece, i) => (i % 2 === 1 ? <code key={i}>{piece}</code> : piece));
}
