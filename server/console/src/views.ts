// The views of the console by their addresses. A new view is a file in views/ and a line here.

import type { FunctionComponent } from "preact";
import type { IconName } from "./components/icon.tsx";
import { match, type Parameters } from "./routes.ts";
import type { Key } from "./texts.ts";
import { Activity } from "./views/activity.tsx";
import { Fields } from "./views/fields.tsx";
import { Home } from "./views/home.tsx";
import { Import } from "./views/import.tsx";
import { Segments } from "./views/segments.tsx";
import { Settings } from "./views/settings.tsx";
import { Subscribers } from "./views/subscribers.tsx";
import { Suppressions } from "./views/suppressions.tsx";
import { Tags } from "./views/tags.tsx";
import { Webhooks } from "./views/webhooks.tsx";

export interface View {
  /** A pattern of paths below the console, such as /subscribers/:id?. */
  path: string;
  /** The title of the page. */
  title: Key;
  component: FunctionComponent<Parameters>;
  /** Its icon in the navigation, and the letter that opens it after `g`. */
  icon?: IconName;
  letter?: string;
  /** The path of the view whose place in the navigation it shares. */
  within?: string;
}

export const VIEWS: View[] = [
  { path: "/", title: "home.title", component: Home, icon: "home", letter: "h" },
  { path: "/subscribers/:id?", title: "subscribers.title", component: Subscribers, icon: "people", letter: "s" },
  { path: "/segments/:id?", title: "segments.title", component: Segments, icon: "filter", letter: "e" },
  { path: "/tags", title: "attributes.title", component: Tags, icon: "tag", letter: "t" },
  { path: "/fields", title: "fields.title", component: Fields, letter: "f", within: "/tags" },
  {
    path: "/suppressions",
    title: "suppressions.title",
    component: Suppressions,
    letter: "b",
    within: "/subscribers/:id?",
  },
  { path: "/import/:id?", title: "import.title", component: Import, icon: "up", letter: "i" },
  {
    path: "/activity/:id?",
    title: "activity.title",
    component: Activity,
    icon: "activity",
    letter: "a",
  },
  {
    path: "/webhooks/:id?/:part?/:delivery?",
    title: "webhooks.title",
    component: Webhooks,
    icon: "webhook",
    letter: "w",
  },
  { path: "/settings/:part?", title: "settings.title", component: Settings, icon: "settings" },
];

/** Returns whether a view has this path. */
export function hasView(path: string): boolean {
  return VIEWS.some((view) => match(view.path, path));
}
