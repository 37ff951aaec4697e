/** A title with its `code` set as code; a lone backtick stays what it is. */
export function coded(title: string) {
  return title.split(/`([^`]+)`/).map((piece, i) => (i % 2 === 1 ? <code key={i}>{piece}</code> : piece));
}
