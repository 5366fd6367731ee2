import type { FunctionComponent } from "preact";
import { useLoaded } from "../load.ts";
import type { Parameters } from "../routes.ts";
import { Part } from "./part.tsx";

type Views = typeof import("../views/later.ts");

let views: Views | undefined;

/** Loads the script of the views that are shown less often. */
export async function loadLater(): Promise<Views> {
  return (views ??= await import("../views/later.ts"));
}

/** Returns one of these views. */
export function later(name: keyof Views): FunctionComponent<Parameters> {
  return function Later(parameters: Parameters) {
    const loading = useLoaded(loadLater);
    const View: FunctionComponent<Parameters> | undefined = views?.[name];
    if (View) return <View {...parameters} />;
    return (
      <div class="page">
        {/* After an update of the server, the script has another address. */}
        <Part of={{ ...loading, reload: () => location.reload() }}>{() => null}</Part>
      </div>
    );
  };
}
