/** `list` with one item more. The first one gets a list for itself: an empty list that grows makes room for seventeen. */
export function withOne<Item>(list: Item[], item: Item): Item[] {
  if (list.length === 0) return [item];
  list.push(item);
  return list;
}
