// The columns of the list: which there are, which are shown, and their cells.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { CustomField, Subscriber } from "../../api/types.ts";
import { StatusLabel } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { number, t } from "../../texts.ts";

export interface Column {
  name: string;
  title: string;
  /** A width of CSS grids. */
  width: string;
  /** The field by which the server sorts. */
  order?: "email" | "lastName" | "createdAt";
  /** Whether the title is text of a person. */
  isCustom?: boolean;
  cell: (subscriber: Subscriber) => ComponentChildren;
}

export const DEFAULT_COLUMNS = ["name", "status", "tags", "created"];
const PREFIX = "customFields.";

/** Returns all columns but the address, which is always shown. */
export function allColumns(fields: CustomField[]): Column[] {
  return [
    {
      name: "name",
      title: t("column.name"),
      width: "minmax(120px, 1fr)",
      order: "lastName",
      cell: ({ firstName, lastName }) => <Text value={`${firstName} ${lastName}`.trim()} />,
    },
    {
      name: "status",
      title: t("column.status"),
      width: "136px",
      cell: ({ status }) => <StatusLabel status={status} />,
    },
    {
      name: "tags",
      title: t("column.tags"),
      width: "minmax(120px, 1.5fr)",
      cell: ({ tags }) => <Tags tags={tags} />,
    },
    ...fields.map((field) => ({
      name: PREFIX + field.key,
      title: field.label,
      width: "minmax(96px, 0.8fr)",
      isCustom: true,
      cell: ({ customFields }: Subscriber) => <CustomValue value={customFields?.[field.key]} />,
    })),
    {
      name: "created",
      title: t("column.created"),
      width: "112px",
      order: "createdAt",
      cell: ({ createdAt }) => <Time value={createdAt} as="date" />,
    },
  ];
}

export const EMAIL: () => Column = () => ({
  name: "email",
  title: t("column.email"),
  width: "minmax(160px, 2fr)",
  order: "email",
  cell: ({ email }) => <Text value={email} />,
});

function Text({ value }: { value: string }) {
  return (
    <bdi class="cut" title={value.length > 24 ? value : undefined}>
      {value}
    </bdi>
  );
}

/** The width of the column of tags, in pixels. */
export const tagsWidth = signal(0);

/** The tag that was added last, which comes first: it is not among those for which there is no room. */
export const newTag = signal("");

/** Returns how many tags there is room for, by the usual width of letters; the first one is always shown. */
function fitting(tags: string[]): number {
  let room = tagsWidth.value;
  const at = tags.findIndex((tag, index) => {
    room -= Math.min(120, 18 + 7 * tag.length);
    // The last one needs no room for the number of others.
    return index > 0 && room < (tags[index + 1] ? 24 : -4);
  });
  return at < 0 ? tags.length : at;
}

/** The tags that fit, and how many more there are. */
function Tags({ tags: stored }: { tags: string[] }) {
  const isNew = (tag: string) => Number(tag.toLowerCase() === newTag.value.toLowerCase());
  const tags = stored.toSorted((a, b) => isNew(b) - isNew(a));
  const shown = fitting(tags);
  const more = tags.length - shown;
  return (
    <span class="tags" title={tags.join(", ")}>
      {tags.slice(0, shown).map((tag) => (
        <bdi class="tag cut" key={tag}>
          {tag}
        </bdi>
      ))}
      {more > 0 && <small>+{more}</small>}
    </span>
  );
}

/** A value of a custom field, by its type. */
export function CustomValue({ value }: { value: unknown }) {
  if (value === undefined || value === null) return null;
  if (typeof value === "boolean") return <>{value ? t("yes") : t("no")}</>;
  if (typeof value === "number") return <>{number(value)}</>;
  return <Text value={String(value)} />;
}
