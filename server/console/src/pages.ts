// Reads lists that are shown as a whole.

const LIMIT = 100;

/** Returns the items of all pages, at most `most`. */
export async function pages<Item>(
  read: (query: { limit: number; page: number }) => Promise<{ items: Item[]; total: number }>,
  most = 1_000,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let page = 1; all.length < most; page += 1) {
    const { items, total } = await read({ limit: LIMIT, page });
    all.push(...items);
    if (!items.length || all.length >= total) break;
  }
  return all;
}
