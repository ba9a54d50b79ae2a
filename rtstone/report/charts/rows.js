// Data comes flattened, to save brackets.
export function rows(flat, width) {
  const found = [];
  for (let i = 0; i < flat.length; i += width) found.push(flat.slice(i, i + width));
  return found;
}
