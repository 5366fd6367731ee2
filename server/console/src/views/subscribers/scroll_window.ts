// Which rows of a long list are visible, without I/O.
//
// Browsers limit the height of an element: Firefox to about 17.9 million pixels, which are fewer
// than 500,000 rows. The scrolled height is therefore limited. If the list is longer, small scrolls
// move it by as many pixels, and jumps of the scroll bar move it proportionally.

const MAX_HEIGHT = 8_000_000;

export class ScrollWindow {
  readonly #rowHeight: number;
  readonly #total: number;
  readonly #viewport: number;
  /** The scroll position, and the distance of the visible part from the start of the list. */
  scrollTop: number;
  offset: number;

  constructor(total: number, rowHeight: number, viewport: number, offset = 0) {
    this.#total = total;
    this.#rowHeight = rowHeight;
    this.#viewport = viewport;
    this.offset = clamp(offset, this.#maxOffset);
    this.scrollTop = this.proportional();
  }

  /** The height of the scrolled element. */
  get height(): number {
    return Math.min(this.#total * this.#rowHeight, MAX_HEIGHT);
  }

  get #maxOffset(): number {
    return Math.max(0, this.#total * this.#rowHeight - this.#viewport);
  }

  get #maxScroll(): number {
    return Math.max(0, this.height - this.#viewport);
  }

  /** Returns the scroll position for the offset. */
  proportional(): number {
    return this.#maxOffset ? (this.offset / this.#maxOffset) * this.#maxScroll : 0;
  }

  /** Follows a scroll position of the element. */
  scrollTo(scrollTop: number): void {
    const change = scrollTop - this.scrollTop;
    this.scrollTop = scrollTop;
    const isAtEnd = scrollTop <= 0 || scrollTop >= this.#maxScroll - 1;
    const isExact = this.#maxOffset === this.#maxScroll;
    if (isExact || isAtEnd || Math.abs(change) > 4 * this.#viewport) {
      this.offset = this.#maxScroll ? (scrollTop / this.#maxScroll) * this.#maxOffset : 0;
    } else this.offset += change;
    this.offset = clamp(this.offset, this.#maxOffset);
  }

  /** Moves the list so that a row is visible, and returns whether it moved. */
  reveal(row: number): boolean {
    const top = row * this.#rowHeight;
    const before = this.offset;
    if (top < this.offset) this.offset = top;
    else if (top + this.#rowHeight > this.offset + this.#viewport) {
      this.offset = top + this.#rowHeight - this.#viewport;
    }
    this.offset = clamp(this.offset, this.#maxOffset);
    return this.offset !== before;
  }

  /** The first row that is rendered, and the row after the last one. */
  rows(more: number): [number, number] {
    const first = Math.floor(this.offset / this.#rowHeight) - more;
    const last = Math.ceil((this.offset + this.#viewport) / this.#rowHeight) + more;
    return [Math.max(0, first), Math.min(this.#total, last)];
  }

  /** Returns the position of a row within the scrolled element. */
  top(row: number): number {
    return row * this.#rowHeight - this.offset + this.scrollTop;
  }
}

function clamp(value: number, max: number): number {
  return Math.max(0, Math.min(value, max));
}
