// Texts of the console in the language of the person, and formats of numbers and times.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type en from "../texts/en.json";
import keys from "../texts/en.json?keys";
import { ApiError, ConnectionError } from "./api/client.ts";
import type { ErrorDetail } from "./api/types.ts";
import { now } from "./clock.ts";
import { fill } from "./fill.ts";
import { preference, setPreference } from "./preferences.ts";

type Texts = typeof en;
export type Key = keyof Texts;
/** The keys of texts for numbers, without .one and .other. */
export type PluralKey = Key extends infer K ? (K extends `${infer Stem}.other` ? Stem : never) : never;
export type Language = "en" | "de";

// The texts of a language, in the order of the keys.
const FILES: Record<Language, () => Promise<{ default: string[] }>> = {
  en: () => import("../texts/en.json?texts"),
  de: () => import("../texts/de.json?texts"),
};
export const LANGUAGES: Record<Language, string> = { en: "English", de: "Deutsch" };
export const language = signal<Language>("en");
let texts = {} as Texts;

/** Loads the chosen language, or that of the browser. */
export async function loadTexts(): Promise<void> {
  const wanted = [preference("language"), ...navigator.languages].map((tag) => tag.slice(0, 2));
  await use(wanted.find((tag): tag is Language => tag in FILES) ?? "en");
}

export async function choose(chosen: Language): Promise<void> {
  setPreference("language", chosen);
  await use(chosen);
}

async function use(chosen: Language): Promise<void> {
  const loaded = (await FILES[chosen]()).default;
  texts = Object.fromEntries(keys.map((key, index) => [key, loaded[index]])) as Texts;
  formats.clear();
  document.documentElement.lang = chosen;
  language.value = chosen;
}

/** Returns a text with its values. Reading it subscribes a component to the language. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return parts(key, values).join("");
}

/** Returns a text whose values are elements, such as names in <bdi>. */
export function parts(key: Key, values: Record<string, ComponentChildren>): ComponentChildren[] {
  void language.value;
  return fill(texts[key] ?? key, values);
}

/** Returns the text for a number, which replaces {count}. */
export function plural(stem: PluralKey, count: number, values: Record<string, string> = {}): string {
  return pluralParts(stem, count, { count: number(count), ...values }).join("");
}

/** Returns the text for a number with elements as values. */
export function pluralParts(
  stem: PluralKey,
  count: number,
  values: Record<string, ComponentChildren>,
): ComponentChildren[] {
  const rules = format("plural", () => new Intl.PluralRules(language.value));
  const key = `${stem}.${rules.select(count)}`;
  return parts((key in texts ? key : `${stem}.other`) as Key, values);
}

/** Returns a text or an element in quotation marks. */
export function quoted(text: ComponentChildren): ComponentChildren[] {
  return parts("filter.quote", { text });
}

/** Returns the text for a value of an enum or a code if there is one, otherwise the value. */
export function named(group: string, value: string): string {
  const key = `${group}.${value}` as Key;
  void language.value;
  return key in texts ? t(key) : value;
}

/** Returns what happened in a sentence: a text for the code, otherwise the server's. */
export function errorText(error: unknown): string {
  if (error instanceof ConnectionError) return t("error.connection");
  if (!(error instanceof ApiError)) return String(error);
  const key = `error.${error.code}` as Key;
  void language.value;
  if (error.code === "ValidationError") return [t(key), ...error.details.map(detailText)].join(" ");
  if (key in texts) return t(key, { request: error.requestId });
  return error.status === 404 ? t("error.NotFound") : error.message;
}

/** Returns what is wrong with a field: in another language a word for it, then the text of the server. */
export function detailText({ field, code, message }: ErrorDetail): string {
  const word = language.value === "en" ? "" : `${named("detail", code)}, `;
  return `${field && `${field}: `}${word}${message}`;
}

/** The language with the region of the browser, for the order of days and months. */
function locale(): string {
  return navigator.languages.find((tag) => tag.startsWith(language.value)) ?? language.value;
}

const formats = new Map<string, unknown>();

function format<Format>(name: string, make: () => Format): Format {
  void language.value;
  if (!formats.has(name)) formats.set(name, make());
  return formats.get(name) as Format;
}

/** Returns a text in which letters that differ by case or accents are the same, for comparisons. */
export function folded(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

export function number(value: number): string {
  return format("number", () => new Intl.NumberFormat(locale())).format(value);
}

/** Returns a change of a number with its sign. */
export function signed(value: number): string {
  const options = { signDisplay: "exceptZero" } as const;
  return format("signed", () => new Intl.NumberFormat(locale(), options)).format(value);
}

/** Returns a day such as 2026-11-21, which has no time zone. */
export function day(value: string): string {
  const options = { dateStyle: "medium", timeZone: "UTC" } as const;
  return format("day", () => new Intl.DateTimeFormat(locale(), options)).format(new Date(value));
}

export function monthDay(value: string): string {
  const options = { day: "numeric", month: "short", timeZone: "UTC" } as const;
  return format("monthDay", () => new Intl.DateTimeFormat(locale(), options)).format(new Date(value));
}

export function date(value: string | number): string {
  const options = { dateStyle: "medium" } as const;
  return format("date", () => new Intl.DateTimeFormat(locale(), options)).format(new Date(value));
}

export function dateTime(value: string | number): string {
  const options = { dateStyle: "medium", timeStyle: "short" } as const;
  return format("time", () => new Intl.DateTimeFormat(locale(), options)).format(new Date(value));
}

export function clock(value: number): string {
  const options = { timeStyle: "short" } as const;
  return format("clock", () => new Intl.DateTimeFormat(locale(), options)).format(value);
}

/** Returns the time of a day with its seconds. */
export function clockTime(value: string): string {
  const options = { timeStyle: "medium" } as const;
  const made = format("clockTime", () => new Intl.DateTimeFormat(locale(), options));
  return made.format(new Date(value));
}

/** Returns a time with its seconds, as a part of a name that no other one has. */
export function exactTime(value: string): string {
  return `${date(value)} ${clockTime(value)}`;
}

export function percent(share: number): string {
  const options = { style: "percent", maximumFractionDigits: 1 } as const;
  // A share below 1 is not rounded up to 100 %.
  const value = share < 1 ? Math.min(share, 0.999) : share;
  return format("percent", () => new Intl.NumberFormat(locale(), options)).format(value);
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** Returns in how many seconds a time is, and the largest unit of that. */
function distance(value: string) {
  // The time of the server is known to a second.
  const until = (Date.parse(value) - now()) / 1000;
  const seconds = until > 0 && until < 2 ? 0 : until;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (["second", 1] as const);
  return { seconds, unit, size };
}

/** Returns how long ago a time was, in the largest unit. */
export function ago(value: string): string {
  const relative = format("ago", () => new Intl.RelativeTimeFormat(locale(), { numeric: "auto" }));
  const { seconds, unit, size } = distance(value);
  return relative.format(Math.round(seconds / size), unit);
}

/**
 * Returns for how many milliseconds that text stays the same, at most about five minutes: computers sleep.
 *
 * All texts change at whole seconds, so that the page is drawn once for them.
 */
export function agoLasts(value: string): number {
  const { seconds, size } = distance(value);
  const left = seconds / size - Math.round(seconds / size) + 0.5;
  // A future time reaches the next smaller unit earlier.
  const wait = 1000 * Math.min(300, left * size, seconds > 0 ? seconds - size : 300);
  return wait + 1000 - ((now() + wait) % 1000);
}
