# Synthetic rows from R, through the command line: nothing but base R is needed.
# Rscript tabveil.R
tabveil <- function(...) {
  Sys.unsetenv("LD_LIBRARY_PATH")  # R's own libraries are not Python's
  code <- system2(Sys.getenv("TABVEIL", "tabveil"), shQuote(c(...)))
  if (code != 0) stop("tabveil ended with exit code ", code)
}

folder <- tempfile(); dir.create(folder); setwd(folder)
people <- data.frame(age = sample(18:99, 1000, TRUE), sex = sample(c("F", "M"), 1000, TRUE))
write.csv(people, "people.csv", row.names = FALSE, quote = FALSE)
writeLines(c(
  "columns:",
  "  age: {type: numerical, min: 18, max: 99, decimals: 0}",
  "  sex: {type: categorical, values: [F, M]}"
), "schema.yaml")

tabveil("fit", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "-o", "release")
tabveil("sample", "release", "-n", "500", "-o", "synthetic.csv")
synthetic <- read.csv("synthetic.csv")
print(summary(synthetic))
stopifnot(nrow(synthetic) == 500, setequal(synthetic$sex, c("F", "M")))
