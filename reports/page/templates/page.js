{
  // A link to a definition opens its fold.
  const open = () => { const place = document.getElementById(location.hash.slice(1)); if (place && place.tagName === "DETAILS") place.open = true; };
  addEventListener("hashchange", open);
  open();
  const dark = matchMedia("(prefers-color-scheme: dark)"), paper = matchMedia("print");
  const colours = () => {
    const is = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const text = {labelColor: is("--faint"), titleColor: is("--faint"), labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal"};
    return {
      background: "transparent", font: "system-ui, Helvetica, Arial, sans-serif",
      axis: {...text, gridColor: is("--line"), gridOpacity: 0.6, domainColor: is("--line"), tickColor: is("--line")},
      legend: {...text, labelLimit: 220, symbolType: "square"}, view: {stroke: "transparent"}, text: {color: is("--ink")},
      range: {category: dark.matches && !paper.matches
        ? ["#46b78f", "#e58a50", "#7ea6e0", "#c07ab0", "#e0c15a", "#8d99a6", "#ff8a80", "#9ad0c2", "#b39ddb", "#a5d27f"]
        : ["#2a8f6d", "#c2571a", "#3f6fb5", "#8a3b78", "#b58a10", "#6b7680", "#a6321f", "#5aa79a", "#6a55a8", "#6d9a3f"]},
    };
  };
  const draw = () => {
    if (typeof charts === "undefined") return;
    const config = colours(), narrow = innerWidth < 640;
    for (const [name, spec] of Object.entries(charts)) {
      const place = document.getElementById("chart-" + name);
      // Two names beside each other have room on a phone, and names of bars that leave room for these.
      const slim = () => JSON.parse(JSON.stringify(spec), (key, value) =>
        key === "columns" ? 2 : key === "labelLimit" ? Math.min(value, 130) : value);
      const shown = narrow ? {...slim(), config: {...config, legend: {...config.legend, orient: "bottom", columns: 2, labelLimit: 140}}} : {...spec, config};
      vegaEmbed(place, shown, {actions: false, renderer: "svg"}).catch((error) => {
        place.textContent = "The chart cannot be drawn; its figures are in the tables below.";
        console.error(error);
      });
    }
  };
  draw();
  // Paper has no folds to open; afterwards those are closed again that were.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main details:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
  dark.addEventListener("change", draw);
}
