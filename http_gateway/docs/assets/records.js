// Streams of records as they are shown: the first of them, and what became of all.

const SHOWN_RECORDS = 200;
const FAILURES = ["FAILED", "error"];

// Yields the lines of an answer, as many at a time as have come.
async function* linesOf(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let begun = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (begun + decoder.decode(value, { stream: true })).split("\n");
      begun = lines.pop();
      yield lines;
    }
    if (begun) yield [begun];
  } finally {
    // Whoever has seen enough wants no more of it to be sent.
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

// What is known of records: how many came and how many had each outcome, and the first
// of them all and of those that failed.
class Records {
  first = [];
  failed = [];
  number = 0;
  outcomes = new Map();

  // A blank line only kept the connection.
  add(line) {
    if (!line) return;
    this.number += 1;
    if (this.number <= SHOWN_RECORDS) this.first.push(line);
    const outcome = outcomeOf(line);
    if (!outcome) return;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (FAILURES.includes(outcome) && this.failed.length < SHOWN_RECORDS) this.failed.push(line);
  }

  get told() {
    const counts = [...this.outcomes].map(([name, count]) => `${count.toLocaleString("en")} ${name}`);
    return counts.join(", ");
  }
}

// Shows the records of an answer, even of one that breaks off, and returns what became of
// them in words. What changes something is read to its end: a server whose answer nobody
// takes stops where it is. Of what only reads, no more is asked for than is shown.
async function showRecords(place, response, isReading) {
  const records = new Records();
  const told = element("p", { class: "outcomes" });
  place.append(told);
  try {
    for await (const lines of linesOf(response)) {
      for (const line of lines) records.add(line);
      told.textContent = records.told;
      if (isReading && records.number > SHOWN_RECORDS) break;
    }
  } finally {
    told.classList.toggle("bad", records.failed.length > 0);
    place.append(...blocksOf(records, isReading));
  }
  return records.told;
}

function blocksOf(records, isReading) {
  const { first, failed, number } = records;
  const blocks = [];
  if (number > SHOWN_RECORDS) {
    const rest = (number - SHOWN_RECORDS).toLocaleString("en");
    first.push(isReading ? "… and more, which the page did not ask for" : `… and ${rest} more`);
    if (failed.length) blocks.push(block("Records that failed", failed));
  }
  if (number) blocks.push(block("Records", first));
  return blocks;
}
