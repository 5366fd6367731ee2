import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client.ts";
import type { Loaded } from "../load.ts";
import { errorText, t } from "../texts.ts";

/** A part of a view: grey bars until it is loaded, or its error with a button to try again. */
export function Part<Data>({
  of: { data, error, reload },
  bars = 3,
  children,
}: {
  of: Pick<Loaded<Data>, "data" | "error" | "reload">;
  bars?: number;
  children: (data: Data) => ComponentChildren;
}) {
  return (
    <>
      {error ? (
        <PartError onRetry={error instanceof ApiError && error.status === 404 ? undefined : reload}>{errorText(error)}</PartError>
      ) : null}
      {data !== undefined ? children(data) : !error && <Bars count={bars} />}
    </>
  );
}

/** What failed, with a button to try again unless that would fail too. */
export function PartError({ onRetry, children }: { onRetry: (() => void) | undefined; children: ComponentChildren }) {
  return (
    <p class="part-error" role="alert">
      <span>{children}</span>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t("retry")}
        </button>
      )}
    </p>
  );
}

export function Bars({ count }: { count: number }) {
  return (
    <div class="bars" aria-busy="true">
      {Array.from({ length: count }, (_, index) => (
        <span key={index} class="skeleton" />
      ))}
    </div>
  );
}
