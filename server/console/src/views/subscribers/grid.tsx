import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/icon.tsx";
import { t } from "../../texts.ts";
import { type Column, tagsWidth } from "./columns.tsx";
import { type OrderBy, PAGE, type SubscriberList } from "./list.ts";
import { ScrollWindow } from "./scroll_window.ts";
import type { Selection } from "./selection.ts";

const HEADER = 36;
/** Rows beyond the visible ones, so that a scroll shows them at once. */
const MORE_ROWS = 8;
const REST_TIME = 150;
/** More than the rows of any screen. */
const POOL = 256;

export interface GridProps {
  list: SubscriberList;
  columns: Column[];
  rowHeight: number;
  /** The row with the keyboard focus. */
  active: number;
  /** The row at the top when the list is shown. */
  startRow: number;
  selected: Selection;
  openId: string;
  orderBy: OrderBy;
  dimmed: boolean;
  onActive: (index: number) => void;
  onOpen: (index: number) => void;
  onSelect: (index: number, range: boolean) => void;
  /** The box of the header was clicked. */
  onSelectLoaded: () => void;
  onSort: (order: string) => void;
  onRest: (topRow: number) => void;
}

/** A grid of any number of rows. The focus stays on the grid, which names its active row. */
export function Grid(props: GridProps) {
  const { list, columns, rowHeight, active } = props;
  const grid = useRef<HTMLDivElement>(null);
  const view = useRef<ScrollWindow>(new ScrollWindow(0, rowHeight, 0));
  const shown = useRef<SubscriberList | null>(null);
  const render = useSignal(0);
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined);
  void render.value;
  void list.version.value;

  const template = templateOf(columns);
  /** Finds how many tags fit. */
  function measure(): void {
    tagsWidth.value = grid.current?.querySelector(".head .c-tags")?.clientWidth ?? 0;
  }
  useLayoutEffect(measure, [template]);

  function resize(keep: number): void {
    measure();
    const viewport = Math.max(0, (grid.current?.clientHeight ?? 0) - HEADER);
    view.current = new ScrollWindow(list.total, rowHeight, viewport, keep);
    correct();
    render.value += 1;
  }

  /** Sets the scroll position that belongs to the offset. */
  function correct(): void {
    view.current.scrollTop = view.current.proportional();
    if (grid.current) grid.current.scrollTop = view.current.scrollTop;
    // Browsers round scroll positions.
    view.current.scrollTop = grid.current?.scrollTop ?? 0;
  }

  useLayoutEffect(() => {
    const isOther = JSON.stringify(shown.current?.query) !== JSON.stringify(list.query);
    shown.current = list;
    resize(isOther ? props.startRow * rowHeight : view.current.offset);
  }, [list, rowHeight]);

  useLayoutEffect(() => () => clearTimeout(resting.current), [list]);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => resize(view.current.offset));
    if (grid.current) observer.observe(grid.current);
    return () => observer.disconnect();
  }, [list, rowHeight]);

  useLayoutEffect(() => {
    if (active >= 0 && view.current.reveal(active)) {
      correct();
      render.value += 1;
    }
  }, [active]);

  const [first, end] = view.current.rows(MORE_ROWS);
  useLayoutEffect(() => {
    // Rows that are passed quickly are not loaded.
    const timer = setTimeout(() => list.show(first, end), list.row(first) ? 0 : 60);
    return () => clearTimeout(timer);
  }, [list, first, end]);

  function onScroll(): void {
    const scrollTop = grid.current?.scrollTop ?? 0;
    if (scrollTop !== view.current.scrollTop) {
      view.current.scrollTo(scrollTop);
      render.value += 1;
    }
    clearTimeout(resting.current);
    resting.current = setTimeout(() => {
      if (Math.abs(view.current.proportional() - view.current.scrollTop) > 1) {
        correct();
        render.value += 1;
      }
      props.onRest(Math.round(view.current.offset / rowHeight));
    }, REST_TIME);
  }

  /** Moves between the controls of the header, and back to the rows. */
  function onHeaderKey(event: KeyboardEvent): void {
    const controls = headerControls();
    const at = controls.indexOf(event.target as HTMLElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at }[event.key];
    if (event.key === "ArrowDown") {
      grid.current?.focus();
      props.onActive(Math.max(0, active));
    } else if (to === undefined) return;
    else controls[Math.max(0, to)]?.focus();
    event.preventDefault();
  }

  const rows: ComponentChildren[] = [];
  for (let index = first; index < end; index += 1) {
    // Elements of rows that are out of sight are used again.
    rows.push(<Row key={index % POOL} index={index} top={view.current.top(index)} {...props} />);
  }
  return (
    <div
      ref={grid}
      id="grid"
      class={props.dimmed ? "grid dimmed" : "grid"}
      role="grid"
      tabIndex={0}
      aria-label={t("subscribers.title")}
      aria-rowcount={list.total + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={active >= first && active < end ? `row-${active}` : undefined}
      style={{ "--columns": template, "--row": `${rowHeight}px` }}
      onScroll={onScroll}
    >
      <div class="head row" role="row" aria-rowindex={1} onKeyDown={onHeaderKey}>
        <span role="columnheader" aria-colindex={1} class="check">
          <SelectLoaded {...props} />
        </span>
        {columns.map((column, at) => (
          <Head key={column.name} column={column} at={at} orderBy={props.orderBy} onSort={props.onSort} />
        ))}
      </div>
      <div class="rows" role="rowgroup" style={{ height: `${view.current.height}px` }}>
        {rows}
      </div>
    </div>
  );
}

function templateOf(columns: Column[]): string {
  return `36px ${columns.map((column) => column.width).join(" ")}`;
}

/** The header, and grey bars in place of the rows that are not loaded yet. */
export function GridLoading({ columns, rowHeight, orderBy }: Pick<GridProps, "columns" | "rowHeight" | "orderBy">) {
  return (
    <div class="grid loading" inert style={{ "--columns": templateOf(columns), "--row": `${rowHeight}px` }}>
      <div class="head row">
        <span class="check">
          <input type="checkbox" />
        </span>
        {columns.map((column, at) => (
          <Head key={column.name} column={column} at={at} orderBy={orderBy} onSort={() => {}} />
        ))}
      </div>
      {Array.from({ length: 24 }, (_, index) => (
        <div class="row" key={index}>
          <span />
          {columns.map(({ name }) => (
            <span key={name} class="skeleton" />
          ))}
        </div>
      ))}
    </div>
  );
}

function headerControls(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("#grid .head :is(input, button)")];
}

/** Moves the focus from the rows to the header: there is one stop for the Tab key. */
export function focusHeader(): void {
  headerControls()[0]?.focus();
}

/** The box that selects the rows that are loaded, or takes the selection back. */
function SelectLoaded({ list, selected, onSelectLoaded }: GridProps) {
  const hasAll = !selected.isEmpty && selected.hasAll(list.loaded().map((each) => each.id));
  const hasSome = !hasAll && !selected.isEmpty;
  return (
    <input
      type="checkbox"
      tabIndex={-1}
      aria-label={t("selection.loaded")}
      title={t("selection.loaded")}
      checked={hasAll}
      indeterminate={hasSome}
      onChange={({ currentTarget: box }) => {
        // The box shows the selection, which does not change while a search is wrong or loads.
        box.checked = hasAll;
        box.indeterminate = hasSome;
        onSelectLoaded();
      }}
    />
  );
}

export const PAGE_ROWS = () =>
  Math.max(1, Math.floor(((document.getElementById("grid")?.clientHeight ?? PAGE) - HEADER) / 36) - 1);

function Head({
  column,
  at,
  orderBy,
  onSort,
}: {
  column: Column;
  at: number;
  orderBy: OrderBy;
  onSort: (order: string) => void;
}) {
  const [field, direction] = (orderBy || "createdAt desc").split(" ");
  const isSorted = column.order !== undefined && field === column.order;
  const isDescending = direction === "desc";
  const title = column.isCustom ? <bdi class="cut">{column.title}</bdi> : column.title;
  if (!column.order) {
    return (
      <span role="columnheader" class={`c-${column.isCustom ? "custom" : column.name}`} aria-colindex={at + 2}>
        {title}
      </span>
    );
  }
  return (
    <span
      role="columnheader"
      class={`c-${column.name}`}
      aria-colindex={at + 2}
      aria-sort={isSorted ? (isDescending ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        class="sort"
        tabIndex={-1}
        onClick={() => onSort(`${column.order} ${isSorted && !isDescending ? "desc" : "asc"}`)}
      >
        {title}
        {isSorted && (
          <span class={isDescending ? "" : "rising"}>
            <Icon name="down" />
          </span>
        )}
      </button>
    </span>
  );
}

function Row({
  list,
  columns,
  index,
  top,
  active,
  selected,
  openId,
  onActive,
  onOpen,
  onSelect,
}: GridProps & { index: number; top: number }) {
  const subscriber = list.row(index);
  const isSelected = subscriber !== undefined && selected.has(subscriber.id);
  const isOpen = subscriber !== undefined && subscriber.id === openId;
  const classes = ["row", index === active && "active", isSelected && "selected", isOpen && "open"];
  return (
    <div
      id={`row-${index}`}
      class={classes.filter(Boolean).join(" ")}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-busy={subscriber ? undefined : true}
      style={{ transform: `translateY(${top}px)` }}
      onClick={(event) => {
        onActive(index);
        const isCheck = (event.target as Element).closest(".check");
        if (isCheck || event.shiftKey || event.ctrlKey || event.metaKey) onSelect(index, event.shiftKey);
        else onOpen(index);
      }}
    >
      <span class="check" role="gridcell" aria-colindex={1}>
        <span class="box">{isSelected && <Icon name="check" />}</span>
      </span>
      {columns.map((column, at) => (
        <span
          key={column.name}
          class={`c-${column.isCustom ? "custom" : column.name}`}
          role="gridcell"
          aria-colindex={at + 2}
        >
          {subscriber ? column.cell(subscriber) : <span class="skeleton" />}
        </span>
      ))}
    </div>
  );
}
