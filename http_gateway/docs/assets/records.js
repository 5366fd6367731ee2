// Shows streamed records: the first ones, and the number of each outcome.

const SHOWN_RECORDS = 200;
const FAILURES = ["FAILED", "error"];

// Yields the lines of a response in batches, as they arrive.
async function* linesOf(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let partial = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (partial + decoder.decode(value, { stream: true })).split("\n");
      partial = lines.pop();
      yield lines;
    }
    if (partial) yield [partial];
  } finally {
    // Stops the response if the caller stopped reading early.
    reader.cancel().catch(() => {});
  }
}

function outcomeOf(line) {
  try {
    const { outcome, error } = JSON.parse(line);
    return error ? "error" : outcome;
  } catch {
    return undefined;
  }
}

// Counts records and their outcomes, and keeps the first records and the first failed ones.
class Records {
  first = [];
  failed = [];
  number = 0;
  outcomes = new Map();

  // An empty line is a keepalive.
  add(line) {
    if (!line) return;
    this.number += 1;
    if (this.number <= SHOWN_RECORDS) this.first.push(line);
    const outcome = outcomeOf(line);
    if (!outcome) return;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (FAILURES.includes(outcome) && this.failed.length < SHOWN_RECORDS) this.failed.push(line);
  }

  get summary() {
    const counts = [...this.outcomes].map(([name, count]) => `${count.toLocaleString("en")} ${name}`);
    return counts.join(", ");
  }
}

// Shows the records of a response, even of an interrupted one, and returns their outcomes as
// text. The response of a request that changes data is read to its end, because a server stops
// if its response is not read. Otherwise, reading stops after the records that are shown.
async function showRecords(area, response, isRead) {
  const records = new Records();
  const outcomes = element("p", { class: "outcomes" });
  area.append(outcomes);
  try {
    for await (const lines of linesOf(response)) {
      for (const line of lines) records.add(line);
      outcomes.textContent = records.summary;
      if (isRead && records.number > SHOWN_RECORDS) break;
    }
  } finally {
    outcomes.classList.toggle("bad", records.failed.length > 0);
    area.append(...blocksOf(records, isRead));
  }
  return records.summary;
}

function blocksOf(records, isRead) {
  const { first, failed, number } = records;
  const blocks = [];
  if (number > SHOWN_RECORDS) {
    const rest = (number - SHOWN_RECORDS).toLocaleString("en");
    first.push(isRead ? "… and more, which were not requested" : `… and ${rest} more`);
    if (failed.length) blocks.push(block("Records that failed", failed));
  }
  if (number) blocks.push(block("Records", first));
  return blocks;
}
