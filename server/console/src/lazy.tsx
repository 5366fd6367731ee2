// Views whose scripts are loaded after the first view, because most visits do not need them.

import type { FunctionComponent } from "preact";
import { ConnectionError } from "./api/client.ts";
import { Part } from "./components/part.tsx";
import { useLoaded } from "./load.ts";
import type { Parameters } from "./routes.ts";

type View = FunctionComponent<Parameters>;
const scripts: (() => Promise<View>)[] = [];

/** Returns a view that loads its script when it is first shown. */
export function lazy(script: () => Promise<View>): View {
  scripts.push(script);
  const load = () =>
    script().catch((error: unknown) => {
      throw new ConnectionError(String(error));
    });
  return function Lazy(props: Parameters) {
    const loaded = useLoaded(load);
    // After an update of the server, the page has to be loaded again to find the script.
    return <Part of={{ ...loaded, reload: () => location.reload() }}>{(View) => <View {...props} />}</Part>;
  };
}

/** Loads all scripts, so that no view waits for its own. */
export function loadAll(): void {
  for (const script of scripts) void script().catch(() => {});
}
