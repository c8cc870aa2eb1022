/** The text of answers for people: plain sentences. A long word is several tokens, as with real tokenizers. */
const SENTENCES = [
  "A harbour is a place where ships are safe from wind and waves.",
  "Some harbours were made by nature, where a bay lies behind hills or islands.",
  "Others were built by people, with walls of stone that reach far out into the sea.",
  "Ships come in with the tide, and leave again when the water is high enough.",
  "On the quay there are cranes, sheds and rails, and at night a row of lamps.",
  "Pilots know each rock and sandbank, and bring large ships in by the deep channel.",
  "A lighthouse tells sailors how far they are from land and where the entrance is.",
  "Small boats carry people, letters and bread to those that wait outside.",
  "In winter the fishing fleet stays at home and the nets are mended.",
  "Trade made many of these towns rich, and their old houses still show it.",
  "Today most goods travel in steel boxes that all have the same size.",
  "One crane can lift thirty of them in an hour, by day and by night.",
];

const MOST_BYTES = 6;

/** Splits a sentence into pieces: a word with its leading space, or one other character. */
function piecesOf(sentence: string): string[] {
  const words = ` ${sentence}`.match(/ ?[A-Za-z]+|[^A-Za-z]/g) ?? [];
  return words.flatMap((word) => word.match(new RegExp(`.{1,${MOST_BYTES}}`, "g")) ?? []);
}

const opening = piecesOf("This answer is simulated.");
const sentences = SENTENCES.map(piecesOf);
const tokens = sentences.flat();
/** Where each sentence begins. */
const beginnings = sentences.map((_, index) => sentences.slice(0, index).flat().length);

/** Token `index` of choice `choice`. After the opening, each choice begins at another sentence and repeats the passage. */
export function passageToken(start: number, choice: number, index: number): string {
  const said = index - opening.length;
  const token = said < 0 ? opening[index] : tokens[(beginningOf(start, choice) + said) % tokens.length];
  return index === 0 ? (token ?? "").trimStart() : (token ?? "");
}

/** The least number of tokens, from `least` on, with which the first choice ends a sentence. */
export function passageLength(start: number, least: number): number {
  const said = beginningOf(start, 0) + Math.max(least - opening.length, 1);
  const whole = Math.floor((said - 1) / tokens.length) * tokens.length;
  const end = [...beginnings.slice(1), tokens.length].find((each) => each >= said - whole) ?? tokens.length;
  return opening.length + whole + end - beginningOf(start, 0);
}

function beginningOf(start: number, choice: number): number {
  return beginnings[(start + choice) % beginnings.length] ?? 0;
}
