// The views of the console by their addresses. A new view is a file in views/ and a line here.

import type { FunctionComponent } from "preact";
import type { IconName } from "./components/icon.tsx";
import type { Parameters } from "./routes.ts";
import type { Key } from "./texts.ts";
import { Subscribers } from "./views/subscribers.tsx";
import { Activity } from "./views/activity.tsx";
import { Settings } from "./views/settings.tsx";
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
}

export const VIEWS: View[] = [
  { path: "/subscribers/:id?", title: "subscribers.title", component: Subscribers, icon: "people", letter: "s" },
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

/** The address that is shown instead of /. */
export const START = "/subscribers";
