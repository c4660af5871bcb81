// The data of the page: blocks of JSON in it or beside it, and packed numbers within them.

const known = new Map();
const waiting = new Map();

// Scripts beside the page hand over their block here.
window.patevalBlock = (name, content) => {
  known.set(name, content);
  waiting.get(name)?.(content);
  waiting.delete(name);
};

function readBlock(name) {
  if (known.has(name)) return known.get(name);
  const element = document.getElementById(name);
  if (!element) return null;
  const content = JSON.parse(element.textContent);
  known.set(name, content);
  return content;
}

export const board = readBlock("board");

// A block that may have to be loaded from beside the page.
export function loadBlock(name) {
  const here = readBlock(name);
  if (here || !board.folder) return Promise.resolve(here);
  return new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onerror = () => reject(new Error(`data/${name}.js is not beside this page; keep the folder together.`));
    document.head.append(script);
  });
}

const canInflate = typeof DecompressionStream === "function";

// Whole numbers of 16 bits: differences, high bytes before low ones, deflated, as base64.
export async function unpack(text) {
  if (!canInflate) {
    throw new Error("This browser cannot unpack the scores (it has no DecompressionStream); one from 2023 on can.");
  }
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = bytes.length / 2, numbers = new Uint16Array(size);
  let sum = 0;
  for (let i = 0; i < size; i++) {
    sum = (sum + bytes[i] * 256 + bytes[size + i]) & 65535;
    numbers[i] = sum;
  }
  return numbers;
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function unpackValues(packed) {
  const numbers = await unpack(packed.packed), values = new Float64Array(numbers.length);
  const scale = (packed.high - packed.low) / 4094;
  for (let i = 0; i < values.length; i++) values[i] = numbers[i] ? packed.low + (numbers[i] - 1) * scale : NaN;
  return values;
}

// Numbers as they were, to the last digit.
export async function unpackNumbers(packed, size) {
  const numbers = new Float64Array(size);
  if (packed.numbers) return numbers.map((_, i) => packed.numbers[i]);
  if (packed.interval !== undefined) return numbers.map((_, i) => packed.start + i * packed.interval);
  const codes = await unpack(packed.packed);
  numbers[0] = packed.start;
  for (let i = 1; i < size; i++) numbers[i] = numbers[i - 1] + packed.gaps[codes[i]];
  return numbers;
}
