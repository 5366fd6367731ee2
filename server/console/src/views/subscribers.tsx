import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, notify } from "../announce.ts";
import { call, ConnectionError } from "../api/client.ts";
import type { CustomField, Operations } from "../api/types.ts";
import { AddPerson } from "../components/add_person.tsx";
import { Icon } from "../components/icon.tsx";
import { copy } from "../copying.ts";
import { restored } from "../connection.ts";
import { filterable, loadFields } from "../filter_fields.ts";
import { focusList } from "../focus.ts";
import { useShortcuts } from "../keys.ts";
import { useLoaded } from "../load.ts";
import { ended } from "../operations.ts";
import { isPhone } from "../phone.ts";
import { preference, setPreference } from "../preferences.ts";
import { address, go, withQuery } from "../router.ts";
import { match, type Parameters } from "../routes.ts";
import { canWrite, session } from "../session.ts";
import { errorText, number, plural, t } from "../texts.ts";
import { copyCurl } from "./person/copy.ts";
import { focusUnsaved } from "./person/field_editor.tsx";
import { Person } from "./person/person.tsx";
import { panelWidth, Resizer } from "./person/resizer.tsx";
import { chosenColumns, ColumnMenu } from "./subscribers/column_menu.tsx";
import { allColumns, EMAIL } from "./subscribers/columns.tsx";
import { EmptyList } from "./subscribers/empty.tsx";
import { AddFilter, FilterChips, useFilterEditor } from "./subscribers/filter_chips.tsx";
import { withParentheses } from "./subscribers/filter_parts.ts";
import { focusHeader, Grid, GridLoading, PAGE_ROWS } from "./subscribers/grid.tsx";
import { type OrderBy, type Query, type Status, STATUSES, SubscriberList } from "./subscribers/list.ts";
import { rememberRow, startRow } from "./subscribers/position.ts";
import { SearchActions } from "./subscribers/search_actions.tsx";
import { SearchBox, searchText } from "./subscribers/search_box.tsx";
import { SegmentBar } from "./subscribers/segment_bar.tsx";
import { SegmentMenu, SegmentSide } from "./subscribers/segment_links.tsx";
import { anywhere, isAddress, readSearch } from "./subscribers/search_text.ts";
import { filterOf, MOST_EXCEPTIONS, MOST_IN_RANGE, Selection } from "./subscribers/selection.ts";
import { focusSelectionActions, SelectionBar } from "./subscribers/selection_bar.tsx";
import { StatusTabs } from "./subscribers/toolbar.tsx";

/** Up to this number of people, the box offers to search anywhere in addresses and names. */
const FEW = 5;
/** How many segments are shown next to the list. */
const SEGMENTS = 50;
/** The columns for which there is room next to a person. */
const NEXT_TO_PANEL = ["name", "status"];

/** The segments that were shown last, so that the list keeps its place while they are read, and their account. */
let segmentsShown: Pick<Operations["GET /api/segments"]["response"], "segments" | "total"> | undefined;
let segmentsOf: string | undefined;

/** The list of subscribers, and the person of the address in a panel. */
export function Subscribers({ id = "" }: Parameters) {
  const query = address.value.query;
  const wanted: Query = {
    filter: query.get("filter") ?? "",
    q: query.get("q") ?? "",
    status: (STATUSES.find((each) => each === query.get("status")) ?? "") as Status | "",
    segmentId: query.get("segment") ?? "",
    orderBy: (query.get("order") ?? "createdAt desc") as OrderBy,
  };
  const list = useSignal<SubscriberList | null>(null);
  const error = useSignal<unknown>(null);
  const isLoading = useSignal(true);
  const fields = useSignal<CustomField[]>([]);
  const active = useSignal(-1);
  const selected = useSignal(Selection.NONE);
  const adds = useSignal(false);
  const anchor = useRef(0);
  // Whether the next box that is tapped ends a range: a phone has no Shift key.
  const endsRange = useRef(false);
  // Counts the ranges for which rows are loaded.
  const ranges = useRef(0);
  // The row at the top when a list is shown first.
  const start = useRef(0);
  // The text that was searched for with Enter, until its list is there.
  const entered = useRef("");
  // The text after a pause in typing, and the person who was shown because it is the whole address.
  const typed = useRef("");
  const shownTyped = useRef("");
  // The person who is shown.
  const shownId = useRef("");
  const edits = useRef(false);
  const opensMenu = useRef(false);
  // A row has two lines on a phone.
  const rowHeight = isPhone.value ? 60 : 36;
  // Rises when people were added or left the list.
  const reloads = useSignal(0);
  const text = wanted.filter || wanted.q;
  const edited = useFilterEditor();
  const saved = useLoaded((signal) => call("GET /api/segments", { query: { limit: SEGMENTS }, signal }));

  // An expression in the box that is not searched for yet.
  const isTyped = useComputed(() => {
    const typed = searchText.value.trim();
    const searched = (address.value.query.get("filter") ?? "").trim();
    return readSearch(typed).filter !== "" && ![typed, withParentheses(typed)].includes(searched);
  });

  const key = JSON.stringify(wanted);
  useLayoutEffect(() => {
    if (isTyped.value || (list.value && JSON.stringify(list.value.query) !== key)) selected.value = Selection.NONE;
  }, [key, isTyped.value]);
  useLayoutEffect(() => {
    const request = new AbortController();
    const idBefore = shownId.current;
    if (entered.current !== text) entered.current = "";
    if (typed.current !== text) typed.current = "";
    isLoading.value = true;
    let isOther = false;
    startRow(wanted, JSON.stringify(list.value?.query) === key, request.signal)
      .then((row) => {
        start.current = row;
        return SubscriberList.load(wanted, row, request.signal);
      })
      .then((loaded) => {
        if (request.signal.aborted) return undefined;
        isOther = JSON.stringify(list.value?.query) !== key;
        if (list.value && isOther) {
          active.value = -1;
          selected.value = Selection.NONE;
        }
        list.value?.abandon();
        list.value = loaded;
        error.value = null;
        return loaded;
      })
      // The grid is there now, also if there was none before. Who types on searches for another text.
      .then((loaded) => {
        if (!loaded) return;
        const isOpened = searchText.value === text && (openSingle(loaded) || (isOther && showTyped(loaded)));
        // The sentence about a person who is opened is announced.
        const isOpenedToo = shownId.current !== "" && shownId.current !== idBefore;
        if (isOther && !isOpened && !isOpenedToo) announce(plural("subscribers.found", loaded.total));
      })
      .catch((problem: unknown) => {
        if (request.signal.aborted) return;
        error.value = problem;
        if (!(problem instanceof ConnectionError)) selected.value = Selection.NONE;
      })
      .finally(() => {
        if (!request.signal.aborted) isLoading.value = false;
      });
    return () => request.abort();
  }, [key, restored.value, reloads.value, ended.value]);
  useLayoutEffect(() => void (shownId.current = id), [id]);
  useLayoutEffect(() => {
    if (saved.data) setPreference("segments", saved.data.segments.length ? "" : "none");
  }, [saved.data]);
  useLayoutEffect(() => {
    void loadFields().then((all) => (fields.value = all), () => {});
  }, [restored.value]);

  const hasPanel = useSignal(false);
  hasPanel.value = id !== "";
  const columns = useComputed(() => {
    const chosen = chosenColumns().filter((name) => !hasPanel.value || NEXT_TO_PANEL.includes(name));
    const shown = allColumns(fields.value).filter((column) => chosen.includes(column.name));
    return [EMAIL(), ...shown];
  });

  /** The list of the search that is in the address; null while that is wrong, typed, or loads. */
  function current(): SubscriberList | null {
    const isShown = error.value === null && !isTyped.value;
    return isShown && JSON.stringify(list.value?.query) === key ? list.value : null;
  }

  /** Opens the person if Enter was pressed and exactly one matches. Returns whether it shows another person. */
  function openSingle(loaded: SubscriberList): boolean {
    const { filter, q } = loaded.query;
    // The list of the search before can arrive first.
    if (!entered.current || entered.current !== (filter || q)) return false;
    entered.current = "";
    const address = q.trim().toLowerCase();
    // The address of one person can be the beginning of that of another.
    const exact = loaded.loaded().find(({ email }) => email.toLowerCase() === address);
    if (!loaded.total && !isAddress(q)) return false;
    // The next key is one for the person, not for the box.
    focusList();
    if (exact) open(loaded.indexOf(exact.id));
    else if (loaded.total === 1) open(0);
    else if (loaded.total) move(0);
    else showPerson(q);
    return (exact !== undefined || loaded.total < 2) && ((exact ?? loaded.row(0))?.id ?? q) !== id;
  }

  /** Shows the only person who matches, whose whole address was typed, as `openSingle`. The cursor stays in the box. */
  function showTyped(loaded: SubscriberList): boolean {
    const found = loaded.total === 1 ? loaded.row(0) : undefined;
    // The box has to stay visible next to the person.
    const hidesList = matchMedia("(width < 1080px)").matches;
    const isTyping = typed.current !== "" && document.activeElement?.id === "search" && !hidesList;
    if (!isTyping || found?.email.toLowerCase() !== loaded.query.q.toLowerCase()) return false;
    shownTyped.current = found.id;
    active.value = 0;
    go(withQuery({}, `/subscribers/${found.id}`), { replace: id !== "" });
    return found.id !== id;
  }

  /** Searches for a text, and returns the text that is searched for. */
  function search(value: string, isEntered: boolean): string {
    const read = readSearch(value);
    entered.current = "";
    typed.current = isEntered ? "" : read.q;
    // Another text than the address of the person whom it showed.
    const isOfTyped = id !== "" && id === shownTyped.current && !document.querySelector(".editor.unsaved");
    const path = isOfTyped ? "/subscribers" : undefined;
    if (read.filter && !isEntered) {
      // An expression is sent when it is complete. Its first word was no name.
      if (!wanted.filter) go(withQuery({ q: "" }, path), { replace: true });
      return "";
    }
    const filter = withParentheses(read.filter);
    const q = filter && wanted.filter ? wanted.q : read.q;
    const isSame = filter === wanted.filter && q === wanted.q;
    // A list for the previous text can still be there.
    const shown = JSON.stringify(list.value?.query) === key ? list.value : null;
    if (isEntered) entered.current = filter || q;
    if (isSame && isEntered && shown?.total === 0 && anywhere(wanted)) return searchAnywhere();
    if (isSame && isEntered && error.value) reloads.value += 1;
    else if (isSame && isEntered && shown && !isLoading.value) openSingle(shown);
    else if (!isSame) go(withQuery({ filter, q }, path), { replace: !isEntered });
    return filter || q;
  }

  /** Searches anywhere in addresses and names, and returns the filter. */
  function searchAnywhere(): string {
    const filter = anywhere(wanted);
    go(withQuery({ filter, q: "" }));
    return filter;
  }

  function showPerson(person: string): void {
    go(withQuery({}, `/subscribers/${encodeURIComponent(person)}`) + location.hash);
  }

  function close(): void {
    go(withQuery({}, "/subscribers") + location.hash);
    focusList();
    // On a phone, the list was not shown until now.
    setTimeout(focusList);
  }

  function open(index: number): void {
    const subscriber = list.value?.row(index);
    active.value = index;
    shownTyped.current = "";
    if (subscriber) showPerson(subscriber.id);
  }

  /** Opens the active row; without rows, searches anywhere. */
  function enter(): void {
    if (current()?.total === 0 && anywhere(wanted)) searchAnywhere();
    else open(Math.max(0, active.value));
  }

  function move(to: number, range = false): void {
    const last = (list.value?.total ?? 0) - 1;
    if (last < 0) return;
    active.value = Math.max(0, Math.min(to, last));
    if (range) select(active.value, true);
    document.getElementById("grid")?.focus({ preventScroll: true });
    if (id) open(active.value);
  }

  function select(index: number, range = false): void {
    const rows = current();
    if (!rows) return;
    if (range) return void selectRange(rows, Math.min(anchor.current, index), Math.max(anchor.current, index));
    const id = rows.row(index)?.id;
    // A row that is not loaded yet has a grey bar.
    if (!id) return;
    const changed = selected.value.with([id], !selected.value.has(id));
    if (changed.isAll && changed.ids.size > MOST_EXCEPTIONS) return notify(t("selection.tooMany"));
    anchor.current = index;
    selected.value = changed;
    announce(plural("selection.count", changed.count(rows.total)));
  }

  /** Selects rows, for which those that are missing are loaded. Without all of them, it selects none and says so. */
  async function selectRange(rows: SubscriberList, from: number, to: number): Promise<void> {
    const size = to - from + 1;
    const isTooLarge = size > MOST_IN_RANGE;
    const shown = Array.from({ length: isTooLarge ? 0 : size }, (_, at) => rows.row(from + at)?.id);
    let ids = new Set(shown.filter((each) => each !== undefined));
    if (!isTooLarge && ids.size < size) {
      const before = selected.value;
      ranges.current += 1;
      const own = ranges.current;
      const found = await rows.range(from, to).catch(() => []);
      // A further key changes the range, or the selection.
      if (own !== ranges.current || selected.value !== before) return;
      ids = new Set(current() === rows ? found.map((each) => each.id) : []);
    }
    if (ids.size < size) {
      const text = isTooLarge ? t("selection.largeRange", { count: number(MOST_IN_RANGE) }) : t("selection.notLoaded");
      return notify(text, {
        text: t("selection.selectAll", { count: number(rows.total) }),
        run: () => {
          if (current()) selected.value = Selection.ALL;
        },
      });
    }
    const changed = selected.value.with([...ids], true);
    selected.value = changed;
    announce(plural("selection.count", changed.count(rows.total)));
  }

  /** Selects the rows that are loaded; if they are selected already, no one, or all that match. */
  function selectLoaded(isRepeatedForAll: boolean): void {
    const rows = current();
    if (!rows?.total) return;
    const loaded = rows.loaded().map((each) => each.id);
    const next = isRepeatedForAll ? Selection.ALL : Selection.NONE;
    const isRepeated = selected.value.hasAll(loaded) && !(isRepeatedForAll && selected.value.isAll);
    selected.value = isRepeated ? next : new Selection(false, loaded);
    announce(plural("selection.count", selected.value.count(rows.total)));
  }

  function escape(): void {
    if (id && !focusUnsaved()) close();
    if (id) return;
    if (!selected.value.isEmpty) selected.value = Selection.NONE;
    else if (text || wanted.status) go("/subscribers");
  }

  /** Leads to the actions for the selection, or opens the person of the row with its menu. */
  function openMore(): void {
    if (focusSelectionActions()) return;
    opensMenu.current = activeRow() !== undefined;
    open(active.value);
  }

  const activeRow = () => list.value?.row(active.value);
  const hasActive = () => active.value >= 0 && current() !== null;
  // The panel has these keys itself.
  const hasRow = () => !id && activeRow() !== undefined;
  const hasPeople = () => hasRow() || (!id && !selected.value.isEmpty);
  useShortcuts([
    { keys: ["j", "ArrowDown"], text: "keys.next", run: () => move(active.value + 1) },
    { keys: ["k", "ArrowUp"], when: () => !id && active.value === 0, run: focusHeader },
    { keys: ["k", "ArrowUp"], text: "keys.previousOrHeader", run: () => move(active.value - 1) },
    { keys: ["Shift+ArrowDown"], text: "keys.range", run: () => move(active.value + 1, true) },
    { keys: ["Shift+ArrowUp"], run: () => move(active.value - 1, true) },
    { keys: ["Home"], text: "keys.first", run: () => move(0) },
    { keys: ["End"], text: "keys.last", run: () => move(list.value?.total ?? 0) },
    { keys: ["PageDown"], text: "keys.pageDown", run: () => move(active.value + PAGE_ROWS()) },
    { keys: ["PageUp"], text: "keys.pageUp", run: () => move(active.value - PAGE_ROWS()) },
    { keys: ["Enter"], text: "keys.open", run: enter },
    { keys: ["Escape"], text: "keys.escape", run: escape },
    { keys: ["x"], text: "keys.select", when: hasActive, run: () => select(active.value) },
    { keys: ["Shift+x"], text: "keys.rangeTo", when: hasActive, run: () => select(active.value, true) },
    { keys: ["Ctrl+a"], text: "keys.selectLoaded", run: () => selectLoaded(true) },
    {
      keys: ["e"],
      text: "keys.edit",
      writes: true,
      when: hasRow,
      run: () => {
        edits.current = true;
        open(active.value);
      },
    },
    { keys: ["."], text: "keys.more", when: hasPeople, run: openMore },
    { keys: ["c"], text: "keys.copyAddress", when: hasRow, run: () => void copy(activeRow()?.email ?? "") },
    { keys: ["y"], text: "keys.copyCurl", when: hasRow, run: () => copyCurl(activeRow()?.id ?? "") },
    { keys: ["]"], text: "keys.nextPerson", when: () => id !== "", run: () => move(active.value + 1) },
    { keys: ["["], text: "keys.previousPerson", when: () => id !== "", run: () => move(active.value - 1) },
  ]);

  // A range ends the selection for which it was begun.
  if (selected.value.isEmpty || selected.value.isAll) endsRange.current = false;
  const rows = list.value;
  const openId = id;
  const hasFew = (current()?.total ?? Infinity) <= FEW && anywhere(wanted) !== "";
  const account = session.peek()?.account?.id;
  if (saved.data || account !== segmentsOf) segmentsShown = saved.data;
  segmentsOf = account;
  const { segments, total = 0 } = segmentsShown ?? { segments: [] };
  // Until the segments are known, the page has the form that it had before.
  const hasSegments = segmentsShown ? segments.length > 0 : !preference("segments");
  const isFiltered = text !== "" || wanted.status !== "";
  // That with this filter is chosen too, such as one that was just saved.
  const filter = wanted.q || wanted.segmentId ? "" : filterOf(wanted);
  const links = { segments, total, current: wanted.segmentId, filter, isFiltered };
  const isDimmed = error.value !== null || isTyped.value || (isLoading.value && rows !== null);
  return (
    <div class={id ? "subscribers with-panel" : "subscribers"} style={{ "--panel": `${panelWidth.value}px` }}>
      <h1 class="unseen">{t("subscribers.title")}</h1>
      {hasSegments && <SegmentSide {...links} />}
      <section class="list" aria-label={t("subscribers.title")}>
        <StatusTabs counts={rows?.counts.value} status={wanted.status} />
        <div class="toolbar">
          <SearchBox
            value={text}
            error={error.value}
            fields={filterable.value}
            onType={(value) => search(value, false)}
            onEnter={(value) => search(value, true)}
            onLeave={() => move(Math.max(0, active.value))}
            onAnywhere={hasFew ? searchAnywhere : undefined}
          />
          {hasSegments && <SegmentMenu {...links} />}
          <AddFilter edited={edited} />
          <SearchActions
            key={key}
            list={current()}
            query={wanted}
            fields={fields.value}
            columns={chosenColumns()}
            onSaved={saved.reload}
          />
          {canWrite.value && (
            <button
              type="button"
              class="add"
              aria-label={t("addPerson.title")}
              title={t("addPerson.title")}
              onClick={() => (adds.value = true)}
            >
              <Icon name="plus" />
            </button>
          )}
          <ColumnMenu fields={fields.value} />
        </div>
        <FilterChips
          filter={wanted.filter}
          q={wanted.q}
          fields={filterable.value}
          error={error.value}
          edited={edited}
          onFilter={(filter, options) => go(withQuery({ filter }), options)}
          onSearch={(q) => go(withQuery({ q }))}
        />
        {wanted.segmentId && <SegmentBar id={wanted.segmentId} />}
        <SelectionBar
          key={key}
          list={current()}
          selected={selected}
          fields={fields.value}
          columns={chosenColumns()}
          hasPeople={hasPeople}
          onRange={() => {
            endsRange.current = true;
            notify(t("selection.rangeEnd"));
          }}
          selectActive={() => active.value >= 0 && select(active.value)}
        />
        {rows === null ? (
          !error.value && <GridLoading columns={columns.value} rowHeight={rowHeight} orderBy={wanted.orderBy} />
        ) : rows.total === 0 ? (
          !error.value && <EmptyList query={rows.query} onAdd={() => (adds.value = true)} />
        ) : (
          <Grid
            list={rows}
            columns={columns.value}
            rowHeight={rowHeight}
            active={active.value}
            startRow={start.current}
            selected={selected.value}
            openId={openId}
            orderBy={wanted.orderBy}
            dimmed={isDimmed}
            onActive={(index) => (active.value = index)}
            onOpen={open}
            onSelect={(index, range) => {
              select(index, range || endsRange.current);
              endsRange.current = false;
            }}
            onSelectLoaded={() => selectLoaded(false)}
            onSort={(order) => go(withQuery({ order: order === "createdAt desc" ? "" : order }))}
            onRest={(row) => void rememberRow(rows, row)}
          />
        )}
        {rows?.error.value ? (
          <p class="error load-error" role="alert">
            {errorText(rows.error.value)}{" "}
            <button type="button" onClick={() => rows.retry()}>
              {t("retry")}
            </button>
          </p>
        ) : null}
      </section>
      {adds.value && <AddPerson onClose={() => (adds.value = false)} onAdded={() => (reloads.value += 1)} />}
      {id && <Resizer />}
      {id && (
        <Person
          key={id}
          id={id}
          known={rows?.row(rows.indexOf(id))}
          fields={fields.value}
          edits={edits}
          opensMenu={opensMenu}
          onClose={close}
          onChange={(changed) => list.value?.replace(changed)}
          onAdded={() => (reloads.value += 1)}
          onGone={(text) => {
            if (text) notify(text);
            reloads.value += 1;
            // Another person or view can be shown by then.
            if (match("/subscribers/:id", address.value.path)?.id === id) close();
          }}
        />
      )}
    </div>
  );
}
