import { percent } from "../texts.ts";
import { uploads } from "../views/import/upload.ts";

/** How much of the files is uploaded, in the navigation; nothing without an upload. */
export function UploadShare() {
  const running = uploads.value.filter(({ error }) => !error);
  const sum = (of: "sent" | "size") => running.reduce((total, upload) => total + upload[of], 0);
  if (!running.length) return null;
  return <small>{percent(Math.floor((100 * sum("sent")) / sum("size")) / 100)}</small>;
}
