// Finds releases by edition in a list that is mostly in the order of the look-ups.

/** Number of linear searches after which a map is built. */
const SEARCHES_MAX = 8;

export class EditionFinder<Item> {
  private searches = 0;
  private byEdition: Map<string, Item> | undefined;

  /** `editionOf` returns the edition of an item, if it has one. */
  constructor(
    private readonly items: readonly Item[],
    private readonly editionOf: (item: Item) => string | undefined,
  ) {}

  /** Returns the item with this edition, which is probably at index `place`; undefined if there is none. */
  find(edition: string, place: number): Item | undefined {
    const probable = this.items[place];
    if (probable !== undefined && this.editionOf(probable) === edition) return probable;
    this.searches += 1;
    if (this.searches <= SEARCHES_MAX) {
      return this.items.find((item) => this.editionOf(item) === edition);
    }
    this.byEdition ??= this.index();
    return this.byEdition.get(edition);
  }

  private index(): Map<string, Item> {
    const byEdition = new Map<string, Item>();
    for (const item of this.items) {
      const edition = this.editionOf(item);
      if (edition !== undefined) byEdition.set(edition, item);
    }
    return byEdition;
  }
}
