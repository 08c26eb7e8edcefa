// Measures the displays on a page: what a reader would see, and what a hostile text reached.
function channel(value) { return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4 }
function light(c) { return 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]) }
function numbers(text) { return text.match(/[\d.]+/g).map(Number) }
function colour(text) {
  const found = numbers(text);
  return [found[0] / 255, found[1] / 255, found[2] / 255, found.length > 3 ? found[3] : 1];
}
function over(top, below) { return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])) }
function behind(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) layers.unshift(colour(getComputedStyle(e).backgroundColor));
  return layers.reduce((below, layer) => over(layer, below), [1, 1, 1]);
}
function contrast(element) {
  let share = 1;
  for (let e = element; e; e = e.parentElement) share *= Number(getComputedStyle(e).opacity);
  const style = getComputedStyle(element);
  const back = behind(element);
  const text = element.closest("svg") ? colour(style.fill) : colour(style.color);
  const front = over([...text.slice(0, 3), text[3] * share], back);
  const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}
function report() {
  const boxes = [...document.querySelectorAll(".omnizarr")];
  const texts = boxes.flatMap(box => [...box.querySelectorAll("th,td,span,summary,li,p,text,figcaption")])
    .filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim()));
  const worst = texts.map(e => [contrast(e), e.textContent.slice(0, 30)]).sort((a, b) => a[0] - b[0])[0];
  const width = document.documentElement.clientWidth;
  return {
    hacked: window.hacked === 1,
    loaded: performance.getEntriesByType("resource").length,
    boxes: boxes.length,
    drawings: document.querySelectorAll(".omnizarr svg").length,
    foreign: document.querySelectorAll(".omnizarr img, .omnizarr script, .omnizarr [onload]").length,
    worst: worst,
    dark: light(behind(document.body)) < 0.1,
    wide: boxes.filter(box => box.getBoundingClientRect().right > width + 1).length,
    page: document.documentElement.scrollWidth - width,
    flat: [...document.querySelectorAll(".omnizarr svg")]
      .filter(s => s.getBoundingClientRect().height < 15).length,
  };
}
