// The views of the console by their addresses. A new view is a file in views/ and a line here.
// Those that are shown less often are loaded later.

import type { FunctionComponent } from "preact";
import { FailingBadge } from "./components/failing_badge.tsx";
import type { IconName } from "./components/icon.tsx";
import { later } from "./components/later.tsx";
import { UploadShare } from "./components/upload_share.tsx";
import { match, type Parameters } from "./routes.ts";
import type { Key } from "./texts.ts";
import { Home } from "./views/home.tsx";
import { Segments } from "./views/segments.tsx";
import { Subscribers } from "./views/subscribers.tsx";

export interface View {
  /** A pattern of paths below the console, such as /subscribers/:id?. */
  path: string;
  /** The title of the page. */
  title: Key;
  component: FunctionComponent<Parameters>;
  /** Its icon in the navigation, and the letter that opens it after `g`. */
  icon?: IconName;
  letter?: string;
  /** What the navigation shows about it. */
  badge?: FunctionComponent;
  /** The path of the view whose place in the navigation it shares. */
  within?: string;
  /** Whether it has a place in the navigation on a phone. */
  isFrequent?: true;
}

export const VIEWS: View[] = [
  { path: "/", title: "home.title", component: Home, icon: "home", letter: "h", isFrequent: true },
  {
    path: "/subscribers/:id?",
    title: "subscribers.title",
    component: Subscribers,
    icon: "people",
    letter: "s",
    isFrequent: true,
  },
  {
    path: "/subscribers/:id/consent",
    title: "consent.title",
    component: later("ConsentRecord"),
    within: "/subscribers/:id?",
  },
  {
    path: "/subscribers/:id/data",
    title: "person.data",
    component: later("PersonalData"),
    within: "/subscribers/:id?",
  },
  {
    path: "/segments/:id?",
    title: "segments.title",
    component: Segments,
    icon: "filter",
    letter: "e",
    isFrequent: true,
  },
  { path: "/tags", title: "attributes.title", component: later("Tags"), icon: "tag", letter: "t" },
  { path: "/fields", title: "fields.title", component: later("Fields"), letter: "f", within: "/tags" },
  {
    path: "/suppressions",
    title: "suppressions.title",
    component: later("Suppressions"),
    letter: "b",
    within: "/subscribers/:id?",
  },
  {
    path: "/import/:id?",
    title: "import.title",
    component: later("Import"),
    icon: "up",
    letter: "i",
    badge: UploadShare,
  },
  {
    path: "/activity/:id?",
    title: "activity.title",
    component: later("Activity"),
    icon: "activity",
    letter: "a",
    isFrequent: true,
  },
  {
    path: "/webhooks/:id?/:part?/:delivery?",
    title: "webhooks.title",
    component: later("Webhooks"),
    icon: "webhook",
    letter: "w",
    badge: FailingBadge,
  },
  { path: "/settings/:part?", title: "settings.title", component: later("Settings"), icon: "settings" },
];

/** Returns the address of a view without values. */
export function startOf(view: View): string {
  return view.path.split("/:")[0] || "/";
}

/** Returns whether a view has this path. */
export function hasView(path: string): boolean {
  return VIEWS.some((view) => match(view.path, path));
}
