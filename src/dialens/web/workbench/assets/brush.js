// A range by dragging over a histogram, `[data-brush]`; its form, `[data-ends]`, leads to the rows.
const chart = document.querySelector("[data-brush]");
if (chart) {
  const ends = document.querySelector("[data-ends]");
  const [low, high] = [Number(chart.dataset.low), Number(chart.dataset.high)];
  const chosen = document.createElement("div");
  let from = null;
  const share = (event) => {
    const box = chart.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const draw = (to) => {
    const box = chart.getBoundingClientRect();
    chosen.className = "chosen";
    chosen.style.left = `${Math.min(from, to) * box.width}px`;
    chosen.style.width = `${Math.abs(to - from) * box.width}px`;
  };
  chart.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    from = share(event);
    chart.append(chosen);
    chart.setPointerCapture(event.pointerId);
    draw(from);
  });
  chart.addEventListener("pointermove", (event) => { if (from !== null) draw(share(event)); });
  chart.addEventListener("pointercancel", () => { from = null; chosen.remove(); });
  chart.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const to = share(event);
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    from = null;
    if (last - first < 0.005) { chosen.remove(); return; }
    const value = (part) => Number((low + part * (high - low)).toPrecision(4));
    ends.elements.low.value = first ? value(first) : "";
    ends.elements.high.value = last < 1 ? value(last) : "";
    if (ends.elements.low.value || ends.elements.high.value) ends.submit();
    else chosen.remove();
  });
}
