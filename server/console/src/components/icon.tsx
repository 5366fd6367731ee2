// Icons: paths in a square of 16 units, drawn in the color of the text.

const PATHS = {
  home: "M2.5 7.5L8 3l5.5 4.5M4 6.5v7h8v-7M6.8 13.5V10h2.4v3.5",
  people: "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13c.3-2.3 2-3.5 4.5-3.5s4.2 1.2 4.5 3.5M10.5 3.2a2.5 2.5 0 0 1 0 4.6M12.5 10c1.2.5 1.9 1.5 2 3",
  person: "M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM3 13.5c.4-2.5 2.2-4 5-4s4.6 1.5 5 4",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
  list: "M2.5 4h.01M5.5 4h8M2.5 8h.01M5.5 8h8M2.5 12h.01M5.5 12h8",
  tag: "M2.5 2.5h5.5l5.5 5.5-5.5 5.5L2.5 8zM5.5 5.5h.01",
  edit: "M3 13l.5-2.5 7-7 2 2-7 7zM9 5l2 2",
  shield: "M8 2.5l5 2v3.5c0 3-2 5-5 6-3-1-5-3-5-6V4.5z",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5l3 3",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.5 3.5L13 4.5",
  down: "M4 6l4 4 4-4",
  more: "M3 8a.5.5 0 1 1 1 0 .5.5 0 1 1-1 0M7.5 8a.5.5 0 1 1 1 0 .5.5 0 1 1-1 0M12 8a.5.5 0 1 1 1 0 .5.5 0 1 1-1 0",
  columns: "M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  warning: "M8 2.5l6 11H2zM8 6.5v3.5M8 11.8v.01",
  clock: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM8 5v3l2 1.5",
  help: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM6.3 6.5a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.1M8 11v.01",
  stop: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM4.2 4.2l7.6 7.6",
  bounce: "M2.5 12.5l4-7 2.5 4 1.5-2.5 3 5.5",
  flag: "M4 14V2.5h8l-2 3 2 3H4",
  left: "M10 4L6 8l4 4",
  right: "M6 4l4 4-4 4",
  up: "M8 13V3M4 7l4-4 4 4",
  plus: "M8 3v10M3 8h10",
  link: "M6.5 9.5a2.5 2.5 0 0 0 3.5 0l2.5-2.5A2.5 2.5 0 0 0 9 3.5L8 4.5M9.5 6.5a2.5 2.5 0 0 0-3.5 0L3.5 9A2.5 2.5 0 0 0 7 12.5l1-1",
  webhook: "M8 6.5a2 2 0 1 0-1.7-3.1M7 6l-2.4 4.2M3.6 9.7a2 2 0 1 0 2.4 2.6h4.5M12 13.8a2 2 0 1 0-1.6-3.5L8.6 6",
  activity: "M1.5 8.5h3l2-5 3 9 2-4h3",
  settings: "M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7M11 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM5 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  download: "M8 2.5v7M5 7l3 3 3-3M2.5 13.5h11",
  external: "M7 3.5H3.5v9h9V9M9.5 2.5h4v4M13.5 2.5L7.5 8.5",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon without a name of its own: the text next to it, or its button, states its meaning. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
